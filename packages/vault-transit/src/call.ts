import { SignerError } from "@signpost/core";
import { endedError, memberOf, type CallBounds } from "@signpost/core/adapter";
import type { ApiRequest } from "./api.ts";
import type { Connection } from "./connection.ts";
import { errorOfAnswer, errorOfRequest } from "./errors.ts";

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
    if (answer.status >= 200 && answer.status < 300) return memberOf(answer.json, "data");
    throw errorOfAnswer(answer, target);
  } catch (error) {
    if (bounds.signal.aborted) throw endedError(bounds.signal.reason);
    if (error instanceof SignerError) throw error;
    throw errorOfRequest(error, target, request.secrets ?? []);
  }
}
