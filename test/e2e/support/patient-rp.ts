import { createLocalJWKSet, decodeProtectedHeader, errors, type JSONWebKeySet, jwtVerify } from "jose";
import { ask } from "./ask.ts";

/** A relying party with its own cache, as patient as the headers allow. */
export interface PatientRp {
  /** Verifies by an independent library, at that moment of the test's clock. Resolves with the kid. */
  verify(token: string, time: number): Promise<string>;
  /** Kids of the set that it holds. */
  holds(): readonly string[];
}

export interface PatientRpOptions {
  /** Whether an unknown kid makes it ask once more with `Cache-Control: no-cache`. */
  readonly refetch: boolean;
}

interface Stored {
  readonly keys: JSONWebKeySet;
  readonly usableUntil: number;
}

/**
 * It keeps a set for `max-age` and, unless `must-revalidate` forbids it, for `stale-while-revalidate` to the last
 * second: its background request always seems to fail. No relying party that obeys the headers holds a set longer.
 */
export function createPatientRp(origin: string, { refetch }: PatientRpOptions): PatientRp {
  let stored: Stored | undefined;

  const fetchSet = async (time: number, headers: Record<string, string> = {}): Promise<Stored> => {
    const answer = await ask(origin, { headers });
    if (answer.status !== 200) throw new Error(`the key set is answered with ${answer.status}`);
    const cacheControl = answer.headers["cache-control"] ?? "";
    const age = Number(answer.headers.age ?? "0");
    const stale = cacheControl.includes("must-revalidate") ? 0 : seconds(cacheControl, "stale-while-revalidate");
    const usableUntil = time + (seconds(cacheControl, "max-age") + stale - age) * 1000;
    return { keys: JSON.parse(answer.body.toString()) as JSONWebKeySet, usableUntil };
  };
  const verifyWith = async ({ keys }: Stored, token: string, time: number): Promise<string> => {
    const { protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys), {
      algorithms: ["ES256"],
      currentDate: new Date(time),
    });
    return protectedHeader.kid ?? "";
  };

  return {
    verify: async (token, time) => {
      if (stored === undefined || time >= stored.usableUntil) stored = await fetchSet(time);
      try {
        return await verifyWith(stored, token, time);
      } catch (error) {
        if (!refetch || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
        stored = await fetchSet(time, { "Cache-Control": "no-cache" });
        return await verifyWith(stored, token, time);
      }
    },
    holds: () => stored?.keys.keys.map(({ kid }) => kid ?? "") ?? [],
  };
}

export function kidOf(token: string): string {
  return decodeProtectedHeader(token).kid ?? "";
}

function seconds(cacheControl: string, directive: string): number {
  return Number(new RegExp(`(?:^|[ ,])${directive}=(\\d+)`).exec(cacheControl)?.[1] ?? "0");
}
