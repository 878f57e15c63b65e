import type { Dispatcher } from "undici";
import { findKeySetError, KeySetError } from "../errors.ts";

type UndiciFetch = (typeof import("undici"))["fetch"];

/**
 * The member in which a dispatcher with the address guard carries the proof that the guard works. `compose` keeps it. It is a
 * `Symbol.for`, so a set also finds it on a dispatcher from another copy of this package.
 */
const PROOF = Symbol.for("@signpost/verify/guard-proof");

interface Guarded {
  readonly [PROOF]?: () => Promise<void>;
}

/** A name that is never looked up in the DNS. The guard's own lookup answers it. */
export const PROBE_HOST = "guard-probe.invalid";

/**
 * The two ways to reach a loopback address: a literal and a name. Nothing listens on the port, and if the guard works, no connection
 * is opened.
 */
const PROBES = ["http://127.0.0.1:65535/", `http://${PROBE_HOST}:65535/`];

/** Only a runtime that does not use the guard connects and waits for an answer. */
const PROBE_TIMEOUT_MS = 5000;

/**
 * A runtime may have a `fetch` that ignores dispatchers, as the undici of Bun does, so no address would be checked. Before the first
 * request, probes through the guard must fail with the guard's own error. They are sent once for each dispatcher.
 */
export function withGuardProof<D extends Dispatcher>(dispatcher: D, fetch: UndiciFetch, probe: () => Dispatcher): D {
  let proof: Promise<void> | undefined;
  const prove = async (): Promise<void> => {
    proof ??= proveGuard(fetch, probe());
    await proof;
  };
  return Object.assign(dispatcher, { [PROOF]: prove });
}

/** Rejects if this dispatcher's guard does not work. A dispatcher without a guard needs no proof. */
export async function requireGuard(dispatcher: Dispatcher): Promise<void> {
  await (dispatcher as Guarded)[PROOF]?.();
}

async function proveGuard(fetch: UndiciFetch, dispatcher: Dispatcher): Promise<void> {
  for (const url of PROBES) {
    // Not `AbortSignal.timeout`, which keeps a process on Deno alive until its time has passed.
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), PROBE_TIMEOUT_MS);
    const { signal } = over;
    const outcome: unknown = await fetch(url, { method: "HEAD", redirect: "manual", dispatcher, signal }).catch(
      (error: unknown) => error,
    );
    clearTimeout(timer);
    if (findKeySetError(outcome)?.code !== "address_refused") throw guardUnavailable();
  }
}

function guardUnavailable(): KeySetError {
  return new KeySetError(
    "guard_unavailable",
    "this runtime does not use the address guard, so private addresses could be reached; use a fetch through a proxy that checks addresses",
  );
}
