import type { AwsKmsApi } from "./api.ts";
import { CredentialsError, sourceRow } from "./credential-errors.ts";
import { recordRequests, type RequestRecord } from "./credential-requests.ts";

/**
 * Explains why the caller's client has no credentials, by the answer of their source. Calls that run at the same time
 * share this record, since they may wait for the same credentials.
 */
export function withKnownSources(api: AwsKmsApi): AwsKmsApi {
  let running = 0;
  let record: RequestRecord = { last: undefined };
  const call = async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    if (running === 0) record = { last: undefined };
    running += 1;
    const shared = record;
    try {
      return await recordRequests(shared, send);
    } catch (error) {
      const row = sourceRow(error, shared.last);
      throw row === undefined ? error : new CredentialsError(row, error);
    } finally {
      running -= 1;
    }
  };
  return {
    getPublicKey: (input, options) => call(() => api.getPublicKey(input, options)),
    sign: (input, options) => call(() => api.sign(input, options)),
  };
}
