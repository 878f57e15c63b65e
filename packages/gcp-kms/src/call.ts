import { SignerError } from "@signpost/core";
import { endedError, onCallEnd, withinDeadline, type CallBounds } from "@signpost/core/adapter";
import { algorithmError } from "./answers.ts";
import type { GcpKmsClientLike, GcpKmsVersionResponse } from "./api.ts";
import type { CallSubject } from "./client-error.ts";
import type { ClientCall, Connection } from "./connection.ts";
import { signerErrorFrom, stateInMessage, statusNumber } from "./errors.ts";
import { isKeyVersionName } from "./key-name.ts";
import { withSentToken } from "./sent-token.ts";

/** One call of the client. It resolves with a list, whose first item is the response. */
export type ListCall<Response> = ClientCall<readonly [Response, ...unknown[]]>;

/**
 * Makes one attempt of one call, including the search for credentials. It always rejects with a `SignerError`. The
 * caller sets the time limit, because only gRPC ends the call with the signal.
 */
export async function callOnce<Response>(
  connection: Connection,
  subject: CallSubject,
  bounds: CallBounds,
  call: ListCall<Response>,
): Promise<Response> {
  const startedAt = performance.now();
  let used: GcpKmsClientLike | undefined;
  const send: ListCall<Response> = (client, options) => {
    used = client;
    return call(client, options);
  };
  try {
    const [response] = await endsSoonAfter(bounds, connection.call(bounds, subject, send));
    return response;
  } catch (error) {
    // The client's error for an aborted call does not say why it was aborted.
    if (bounds.signal.aborted) throw endedError(bounds.signal.reason);
    if (error instanceof SignerError) throw error;
    const failure = used === undefined ? error : await withSentToken(error, used);
    throw await explained(connection, failure, subject, {
      signal: bounds.signal,
      timeoutMs: lookUpTime(bounds, startedAt),
    });
  }
}

/** Less than the second after which a call counts as abandoned. Milliseconds. */
const SETTLE_MS = 900;

/**
 * Settles like `call`, or rejects soon after the signal. The client's timeout ends a call that still runs then, some
 * seconds later over REST. So the call frees its slot, and does not count as one that never settles.
 */
function endsSoonAfter<Value>(bounds: CallBounds, call: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const letGo = onCallEnd(bounds, (reason) => {
      timer = setTimeout(() => reject(endedError(reason)), SETTLE_MS);
    });
    const settled = (): void => {
      letGo();
      clearTimeout(timer);
    };
    call.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}

const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

/**
 * If the service refuses a version without naming its state, this reads the version. So the error says "DESTROYED" or
 * "another algorithm", and not only "precondition". This needs `cloudkms.cryptoKeyVersions.get`. Without that
 * permission the error is less exact.
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
  return signerErrorFrom(error, subject, String(version.state));
}

/** The longest time for the look-up that explains a refusal. Milliseconds. */
const MAX_LOOK_UP_MS = 500;

/** Half of the remaining time, so that the refusal is reported in time even if the look-up fails. */
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
    // The first error says enough.
    return undefined;
  }
}
