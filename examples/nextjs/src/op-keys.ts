import {
  createJwksEndpoint,
  createRotationSchedule,
  type JwksEndpoint,
  openSigner,
  type RotationSchedule,
} from "@signpost/core";
import { local } from "@signpost/local";

export interface OpKeys {
  readonly issuer: string;
  readonly keys: RotationSchedule;
  readonly endpoint: JwksEndpoint;
}

// Next.js bundles this file more than once: with instrumentation.ts and with each route. A variable of this module would exist
// once in every bundle, and so would the keys. What all bundles of a process share is `globalThis`.
const shared = globalThis as { signpostOpKeys?: OpKeys };

/**
 * Opens the keys, unless this process has opened them. instrumentation.ts calls this, and so does a custom server. `next build`
 * does not, so a build needs no access to the keys.
 */
export async function openOpKeys(): Promise<OpKeys> {
  if (shared.signpostOpKeys !== undefined) return shared.signpostOpKeys;
  const issuer = process.env["ISSUER"] || "http://localhost:3000/oidc";
  // Keys that exist only in this process. Use key URIs of your KMS or HSM here, with their adapters.
  const [first, second] = await Promise.all([openSigner("local:", [local()]), openSigner("local:", [local()])]);
  const since = "2026-01-01T00:00:00Z";
  const keys = createRotationSchedule(
    [
      { signer: first, announcedFrom: since, activeFrom: since },
      { signer: second, announcedFrom: "2030-01-01T00:00:00Z", activeFrom: "2030-01-02T00:00:00Z" },
    ],
    { maxTokenLifetimeSeconds: 3600 },
  );
  shared.signpostOpKeys = { issuer, keys, endpoint: createJwksEndpoint({ issuer, keys, onError: console.error }) };
  return shared.signpostOpKeys;
}

/**
 * The keys that this process has opened. Next.js with Cache Components would run a GET route at build time, where no keys are
 * open, unless the route reads the request first. So this function reads it.
 */
export function opKeys({ headers }: Request): OpKeys {
  headers.get("host");
  if (shared.signpostOpKeys === undefined) throw new Error("instrumentation.ts has not opened the keys");
  return shared.signpostOpKeys;
}
