import type { KeyObject } from "node:crypto";
import {
  createJwksEndpoint,
  createRotationSchedule,
  emergencyRotation,
  SignerError,
  signJwt,
  type GuardedSigner,
  type JwksEndpoint,
  type RotationSchedule,
  type ScheduledEntry,
} from "@signpost/core";
import type { BackendKey, FaultyBackend, Issuer } from "./backend.ts";
import { ISSUER } from "./issuer-name.ts";
import { type Published, readPublished, thumbprintOf } from "./verifier.ts";

const LIFETIME_SECONDS = 3_600;
const HOUR_MS = 3_600_000;
/** The announcement of a key: four hours, and the clock skew of a minute. */
const ANNOUNCED_MS = 4 * HOUR_MS + 61_000;
/** Until the key before has left the set. */
const RETIRED_MS = 2 * HOUR_MS;

interface Opened {
  readonly key: BackendKey;
  readonly kid: string;
  readonly signer: GuardedSigner;
}

/** An OP: a schedule of keys in a backend, its endpoint, and tokens. */
export interface Provider {
  /** The key that signs now, by what was planned and not by what the schedule says. */
  readonly current: Opened;
  /** The public keys as the backend has them, by their kid. */
  readonly truth: ReadonlyMap<string, KeyObject>;
  issue(subject: string): Promise<string>;
  /** The key set as the endpoint serves it at this moment. */
  published(): Published;
  /** Called with the kid that signs from now on. */
  onChange: (kid: string) => void;
  /** Announces a new key, signs with it, and withdraws the old one. `settled`: the calls under way have ended. */
  rotate(settled: () => Promise<void>): Promise<void>;
  /** Revokes the key and replaces it at once. */
  revoke(settled: () => Promise<void>): Promise<void>;
  /** Closes the signer. */
  shutDown(): Promise<void>;
  /** Opens the key again, after `shutDown`. */
  startAgain(): Promise<void>;
  close(): Promise<void>;
}

/** Opening is not what a campaign is about. On a busy machine it may need more attempts than an opening has. */
async function openPatiently(key: BackendKey, attempts = 5): Promise<GuardedSigner> {
  try {
    return await key.open();
  } catch (error) {
    if (attempts <= 1 || !(error instanceof SignerError && error.transient)) throw error;
    return openPatiently(key, attempts - 1);
  }
}

/** Opens the first key. */
export async function startProvider(backend: FaultyBackend): Promise<Provider> {
  const truth = new Map<string, KeyObject>();
  const sets = new Map<string, Published>();
  /** How far the time of the schedule is ahead of the wall clock. Milliseconds. */
  let ahead = 0;
  const now = (): number => Date.now() + ahead;

  const open = async (key: BackendKey): Promise<Opened> => {
    const kid = thumbprintOf(key.publicKey);
    truth.set(kid, key.publicKey);
    return { key, kid, signer: await openPatiently(key) };
  };
  let current = await open(await backend.newKey());
  let entries: readonly ScheduledEntry[];
  let schedule: RotationSchedule;
  let endpoint: JwksEndpoint;
  const use = (next: readonly ScheduledEntry[]): void => {
    entries = next;
    schedule = createRotationSchedule(entries, { maxTokenLifetimeSeconds: LIFETIME_SECONDS, now });
    endpoint = createJwksEndpoint({ issuer: ISSUER, keys: schedule });
  };
  const alone = ({ signer }: Opened): ScheduledEntry => {
    const since = new Date(now() - 1_000 * HOUR_MS);
    return { signer, announcedFrom: since, activeFrom: since };
  };
  use([alone(current)]);
  const inProcess: Issuer = { sign: (claims) => signJwt(schedule, claims), close: () => Promise.resolve() };
  const issuer = (await backend.startIssuer?.(() => schedule.keySet())) ?? inProcess;

  const becomes = (next: Opened): void => {
    current = next;
    provider.onChange(next.kid);
  };
  const provider: Provider = {
    get current() {
      return current;
    },
    truth,
    onChange: () => undefined,
    issue: (subject) => {
      const iat = Math.floor(now() / 1000);
      return issuer.sign({ iss: ISSUER, sub: subject, aud: "rp", iat, exp: iat + 300 });
    },
    published: () => {
      const { status, headers, body } = endpoint.respond("GET");
      const tag = headers["ETag"] ?? "";
      const known = sets.get(tag);
      if (known !== undefined) return known;
      if (status !== 200 || body === null || tag === "") throw new Error(`the endpoint answered ${status}`);
      const read = readPublished(Buffer.from(body).toString());
      // Sets of keys that are gone are not needed any more.
      if (sets.size > 8) sets.clear();
      sets.set(tag, read);
      return read;
    },
    rotate: async (settled) => {
      const [old, next] = [current, await open(await backend.newKey())];
      const announcedAt = now();
      use([
        ...entries,
        {
          signer: next.signer,
          announcedFrom: new Date(announcedAt),
          activeFrom: new Date(announcedAt + ANNOUNCED_MS),
        },
      ]);
      await settled();
      ahead += ANNOUNCED_MS;
      becomes(next);
      await settled();
      ahead += RETIRED_MS;
      await settled();
      use([alone(next)]);
      await old.signer.close();
    },
    revoke: async (settled) => {
      const [old, next] = [current, await open(await backend.newKey())];
      const replaced = emergencyRotation(entries, {
        revokedKeyId: old.kid,
        at: new Date(now()),
        replacement: { signer: next.signer },
      });
      use(replaced.entries);
      becomes(next);
      await settled();
      // The dates of the emergency are not needed any more.
      use([alone(next)]);
      await old.signer.close();
    },
    shutDown: () => current.signer.close(),
    startAgain: async () => {
      current = await open(current.key);
      use([alone(current)]);
    },
    close: async () => {
      await issuer.close();
      await current.signer.close();
    },
  };
  return provider;
}
