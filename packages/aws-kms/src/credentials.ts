import { elapsedMs, type Instant, readInstant } from "@signpost/core/adapter";
import type { AwsKmsApi, AwsKmsCallOptions } from "./api.ts";
import { CredentialsError } from "./credential-errors.ts";
import { CREDENTIALS_REFUSED, isCredentialRefusal } from "./error-table.ts";

/** The shortest time between two renewals, unless the new credentials were accepted. Milliseconds. */
const RENEWAL_PAUSE_MS = 5000;

/**
 * Lets a call try once more if its credentials were refused. The provider has newer ones after a Lambda was frozen or a
 * role was rotated, or the SDK has noticed that the clock is wrong. Calls that fail together renew them once. If
 * credentials were accepted after a renewal and are refused later, they were rotated again and are renewed immediately.
 * If they stay refused, none are requested for a while, and the error says so.
 */
export function withRenewedCredentials(api: AwsKmsApi, renew: () => Promise<void>): AwsKmsApi {
  let renewedAt: Instant | undefined;
  let renewing: Promise<void> | undefined;
  /** Whether the credentials of the last renewal were accepted. */
  let accepted = false;

  const renewOnce = async (): Promise<void> => {
    const renewed = (): void => {
      renewedAt = readInstant();
      accepted = false;
    };
    try {
      await renew();
      renewed();
    } catch (error) {
      // If the source is only down, the next call may ask it again.
      if (!(error instanceof CredentialsError) || error.row.code === "access_denied") renewed();
      throw error;
    } finally {
      renewing = undefined;
    }
  };
  /** Compares by the monotonic clock, because that one is never set. */
  const wasRenewedSince = (startedAt: Instant): boolean =>
    renewedAt !== undefined && renewedAt.monotonic >= startedAt.monotonic;
  /** Throws if the credentials were renewed only just before and are still refused. */
  const renewAfter = async (refusal: unknown, startedAt: Instant): Promise<void> => {
    if (renewing === undefined) {
      if (wasRenewedSince(startedAt)) return;
      const agoMs = renewedAt === undefined ? Number.POSITIVE_INFINITY : elapsedMs(renewedAt);
      if (!accepted && agoMs < RENEWAL_PAUSE_MS) throw renewedInVain(refusal, agoMs);
      renewing = renewOnce();
    }
    await renewing;
  };
  /** For an answer to a call that began at this time. */
  const accept = (since: Instant): void => {
    if (renewedAt === undefined || since.monotonic >= renewedAt.monotonic) accepted = true;
  };
  const attempt = async <Answer>({ signal }: AwsKmsCallOptions, call: () => Promise<Answer>): Promise<Answer> => {
    const startedAt = readInstant();
    try {
      const answer = await call();
      accept(startedAt);
      return answer;
    } catch (error) {
      if (!isCredentialRefusal(error)) throw error;
      await renewAfter(error, startedAt);
      if (signal?.aborted === true) throw error;
    }
    const since = readInstant();
    const answer = await call();
    accept(since);
    return answer;
  };
  return {
    getPublicKey: (input, options) => attempt(options, () => api.getPublicKey(input, options)),
    sign: (input, options) => attempt(options, () => api.sign(input, options)),
  };
}

function renewedInVain(refusal: unknown, agoMs: number): CredentialsError {
  const { code, text } = CREDENTIALS_REFUSED;
  const asked = `new ones were requested ${Math.round(agoMs)} ms ago, and will be again ${RENEWAL_PAUSE_MS} ms after that`;
  return new CredentialsError({ code, text: `${text} (${asked})` }, refusal);
}
