import { SignerError } from "@signpost/core";
import { endedError, memberOf, type CallBounds } from "@signpost/core/adapter";
import type { ApiRequest } from "./api.ts";
import type { Connection } from "./connection.ts";
import { describeCall, errorOfAnswer, errorOfRequest } from "./errors.ts";

/**
 * Makes one attempt of one call about a key, and resolves with the member `data` of the answer. It always rejects with a
 * `SignerError`. `action` says what the call does, with the name of the key. The caller sets the time limit, by the signal.
 */
export async function callOnce(
  connection: Connection,
  action: string,
  bounds: CallBounds,
  request: ApiRequest,
): Promise<unknown> {
  const target = { action, address: connection.address, namespace: connection.namespace };
  try {
    const answer = await connection.call(target, request, bounds);
    if (answer.status >= 200 && answer.status < 300) return dataOf(answer.json, describeCall(target));
    throw errorOfAnswer(answer, target);
  } catch (error) {
    if (bounds.signal.aborted) throw endedError(bounds.signal.reason);
    if (error instanceof SignerError) throw error;
    throw errorOfRequest(error, target, request.secrets ?? []);
  }
}

/** The member `data`, unless the server keeps it back. Each request of a path with a control group asks people to approve it. */
function dataOf(answer: unknown, call: string): unknown {
  const data = memberOf(answer, "data");
  const wrapped = memberOf(answer, "wrap_info");
  if ((data !== undefined && data !== null) || typeof wrapped !== "object" || wrapped === null) return data;
  const problem =
    "the server wrapped the answer, for example until a control group approves it. Exempt this path from the control group";
  throw new SignerError("access_denied", `cannot ${call}: ${problem}`);
}
