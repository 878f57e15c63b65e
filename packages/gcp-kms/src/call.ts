import { SignerError } from "@signpost/core";
import { endedError, onAbort, withinDeadline, type CallBounds } from "@signpost/core/adapter";
import { algorithmError } from "./answers.ts";
import type { GcpKmsVersionResponse } from "./api.ts";
import type { CallSubject } from "./client-error.ts";
import type { ClientCall, Connection } from "./connection.ts";
import { signerErrorFrom, stateInMessage, statusNumber } from "./errors.ts";
import { isKeyVersionName } from "./key-name.ts";

/** One call of the client, which answers with a list whose first item is the response. */
export type ListCall<Response> = ClientCall<readonly [Response, ...unknown[]]>;

/**
 * One attempt of one call, credentials included, its error always a `SignerError`. The call is bounded from outside: only
 * gRPC of 6.x ends it with the signal.
 */
export async function callOnce<Response>(
  connection: Connection,
  subject: CallSubject,
  bounds: CallBounds,
  call: ListCall<Response>,
): Promise<Response> {
  const startedAt = performance.now();
  try {
    const [response] = await endsSoonAfter(bounds.signal, connection.call(bounds, subject, call));
    return response;
  } catch (error) {
    // What a client says of a call that was ended is not why it was ended.
    if (bounds.signal.aborted) throw endedError(bounds.signal.reason);
    if (error instanceof SignerError) throw error;
    throw await explained(connection, error, subject, { ...bounds, timeoutMs: lookUpTime(bounds, startedAt) });
  }
}

/** Less than the second after which a call counts as left behind. */
const SETTLE_MS = 900;

/**
 * Settles like `call`, or rejects soon after the signal. What still runs then is bounded by the client's own timeout, some
 * seconds later over REST: it holds no place, and is none of the calls that never come back.
 */
function endsSoonAfter<Value>(signal: AbortSignal, call: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const letGo = onAbort(signal, () => {
      timer = setTimeout(() => reject(endedError(signal.reason)), SETTLE_MS);
    });
    const settled = (): void => {
      letGo();
      clearTimeout(timer);
    };
    call
      .then(resolve, reject)
      .finally(settled)
      .catch(() => {});
  });
}

const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

/**
 * The service refuses a version that cannot sign in its own words. When they do not name its state, the version is
 * asked for: a caller is told "DESTROYED" or "another algorithm" and not just "precondition". That takes
 * `cloudkms.cryptoKeyVersions.get`; without it the answer is less exact.
 */
async function explained(
  connection: Connection,
  error: unknown,
  subject: CallSubject,
  bounds: CallBounds,
): Promise<SignerError> {
  const first = signerErrorFrom(error, subject);
  const status = statusNumber(error);
  const isUnclear = status === FAILED_PRECONDITION ? stateInMessage(error) === undefined : status === INVALID_ARGUMENT;
  if (!isUnclear || first.code === "integrity" || !isKeyVersionName(subject.name)) return first;
  const version = await lookUp(connection, subject, bounds);
  if (version?.name !== subject.name) return first;
  const refusal = algorithmError(`GetCryptoKeyVersion of ${subject.name}`, version.algorithm, subject.name);
  if (refusal?.code === "unsupported_key") return refusal;
  return status === FAILED_PRECONDITION ? signerErrorFrom(error, subject, String(version.state)) : first;
}

/** The longest that a refusal waits for its explanation. Milliseconds. */
const MAX_LOOK_UP_MS = 500;

/** Half of the time that is left, so that the refusal itself is in time whatever becomes of the look-up. */
function lookUpTime({ timeoutMs }: CallBounds, startedAt: number): number {
  const leftMs = timeoutMs - (performance.now() - startedAt);
  return Math.max(1, Math.min(MAX_LOOK_UP_MS, Math.floor(leftMs / 2)));
}

async function lookUp(
  connection: Connection,
  subject: CallSubject,
  { timeoutMs, signal: caller }: CallBounds,
): Promise<GcpKmsVersionResponse | undefined> {
  const get: ListCall<GcpKmsVersionResponse> = (client, options) =>
    client.getCryptoKeyVersion({ name: subject.name }, options);
  try {
    const [version] = await withinDeadline((signal) => connection.call({ timeoutMs, signal }, subject, get), {
      deadlineMs: timeoutMs,
      signal: caller,
    });
    return version;
  } catch {
    // The error that we have says enough.
    return undefined;
  }
}
