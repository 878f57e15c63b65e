import { memberOf, withinDeadline, type CallBounds } from "@signpost/core/adapter";
import type { GcpKmsCallOptions, GcpKmsClientLike } from "./api.ts";
import { credentialsError, lateError, requireToken } from "./credential-errors.ts";
import type { RequestRecord } from "./credential-requests.ts";
import type { CallSubject } from "./client-error.ts";

/** The options of a call over the transport of a client that is ready. */
export type CallOptionsOf = (bounds: CallBounds) => GcpKmsCallOptions;

/**
 * Finds credentials before a call is made, so that no call is made when there are none, and what failed is told apart from
 * the service. Left to itself the client fails in two ways that no caller can catch, and each ends the process:
 *
 * - It starts `initialize()` inside each call, and rethrows its failure out of reach.
 * - Over REST it asks for the token inside the call. When the call ends meanwhile, by its signal or its timeout,
 *   node-fetch 3 destroys a request body that has no listener yet.
 *
 * `asks` says whether a token is asked for over gRPC as well. A client of the caller may have credentials there that are
 * not those of its `auth`.
 */
export async function makeReady(client: GcpKmsClientLike, asks: "rest" | "always"): Promise<CallOptionsOf> {
  const stub = await client.initialize();
  const isRest = isRestStub(stub);
  // From the client's cache, unless it is about to expire.
  if (isRest || asks === "always") requireToken(await client.auth?.getRequestHeaders());
  return isRest ? restOptions : grpcOptions;
}

/** Of a call's time, what credentials may take: the rest is for the error that says that they took it all. */
const CREDENTIALS_SHARE = 0.9;

/** How long credentials may take in one call. Whole milliseconds, from 1. */
export function credentialsTime({ timeoutMs }: CallBounds): number {
  return Math.max(1, Math.floor(timeoutMs * CREDENTIALS_SHARE));
}

/** Waits for a client to be ready, as long as the call can. Always rejects with `SignerError`. */
export async function readyInTime<Ready>(
  preparing: Promise<Ready>,
  record: RequestRecord,
  bounds: CallBounds,
  subject: CallSubject,
): Promise<Ready> {
  const deadlineMs = credentialsTime(bounds);
  const failed = (error: unknown): never => {
    throw credentialsError(error, subject);
  };
  const message = `cannot ${subject.action} ${subject.name}: Google credentials did not come within ${deadlineMs} ms`;
  try {
    return await withinDeadline(() => preparing.catch(failed), { deadlineMs, signal: bounds.signal, message });
  } catch (error) {
    const isLate = memberOf(error, "code") === "timeout" && memberOf(error, "message") === message;
    throw (isLate ? lateError(record.last, subject, message) : undefined) ?? error;
  }
}

// A stub of grpc-js has a channel; that of REST is a plain object of functions.
function isRestStub(stub: unknown): boolean {
  return typeof stub === "object" && stub !== null && !("getChannel" in stub);
}

/** The longest time of a timer: a longer one is over at once. Milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

/** Ours is over first, and says so in our words. The client's own ends a call that does not hear the signal, in 5.x. */
const GRPC_GRACE_MS = 100;

function grpcOptions({ timeoutMs, signal }: CallBounds): GcpKmsCallOptions {
  return { timeout: Math.min(timeoutMs + GRPC_GRACE_MS, MAX_TIMER_MS), retry: null, signal };
}

/** Time for the client to begin, on the busiest machine. The caller does not wait for it. */
const REST_GRACE_MS = 10_000;

/** Over REST nothing ends a call before it has surely begun: its own timeout does, some time after ours. */
function restOptions({ timeoutMs }: CallBounds): GcpKmsCallOptions {
  return { timeout: Math.min(timeoutMs + REST_GRACE_MS, MAX_TIMER_MS), retry: null };
}
