import type { Dispatcher } from "undici";
import { findKeySetError, KeySetError } from "../errors.ts";

type UndiciFetch = (typeof import("undici"))["fetch"];

/**
 * Where a dispatcher with the address guard carries the proof that the guard works. `compose` keeps it. `Symbol.for`, so that a set
 * asks for the proof of a dispatcher that another copy of this package made.
 */
const PROOF = Symbol.for("@signpost/verify/guard-proof");

interface Guarded {
  readonly [PROOF]?: () => Promise<void>;
}

/** A name that no resolver is asked for: the guard's own lookup answers it. */
export const PROBE_HOST = "guard-probe.invalid";

/**
 * Both ways to a loopback address: as a literal, and by a name. Nothing is behind the port, and where the guard works nothing is
 * connected to.
 */
const PROBES = ["http://127.0.0.1:65535/", `http://${PROBE_HOST}:65535/`];

/** Only a runtime without the guard makes a connection, and may wait for its answer. */
const PROBE_TIMEOUT_MS = 5000;

/**
 * Bun brings another undici, whose `fetch` ignores dispatchers, so that no address would be judged. Before the first request,
 * probes through the guard must end in the guard's own error. They are sent once for each dispatcher.
 */
export function withGuardProof<D extends Dispatcher>(dispatcher: D, fetch: UndiciFetch, probe: () => Dispatcher): D {
  let proof: Promise<void> | undefined;
  const prove = async (): Promise<void> => {
    proof ??= proveGuard(fetch, probe());
    await proof;
  };
  return Object.assign(dispatcher, { [PROOF]: prove });
}

/** Rejects where this dispatcher's guard does not work. One without a guard needs no proof. */
export async function requireGuard(dispatcher: Dispatcher): Promise<void> {
  await (dispatcher as Guarded)[PROOF]?.();
}

async function proveGuard(fetch: UndiciFetch, dispatcher: Dispatcher): Promise<void> {
  for (const url of PROBES) {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const outcome: unknown = await fetch(url, { method: "HEAD", redirect: "manual", dispatcher, signal }).catch(
      (error: unknown) => error,
    );
    if (findKeySetError(outcome)?.code !== "address_refused") throw guardUnavailable();
  }
}

export function guardUnavailable(): KeySetError {
  return new KeySetError(
    "guard_unavailable",
    "this runtime opens connections past the address guard, so that private addresses could be reached",
  );
}
