import { elapsedMs, type Instant, readInstant } from "@signpost/core/adapter";
import type { AwsKmsApi, AwsKmsCallOptions } from "./api.ts";
import { CredentialsError } from "./credential-errors.ts";
import { CREDENTIALS_REFUSED, isCredentialRefusal } from "./error-table.ts";

/** How long after a renewal none is made again, unless what it gave was accepted meanwhile. Milliseconds. */
const RENEWAL_PAUSE_MS = 5000;

/**
 * Lets a call try once more when its credentials were refused: after a Lambda was frozen, or a role was rotated, the
 * provider has newer ones, or the SDK has seen that the clock is off. Calls that fail together renew them once.
 * Credentials that were accepted after a renewal and are refused later were rotated again, and are renewed again at once.
 * Those that stay refused are not asked for again for a while, and the error says so.
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
      // A source that is down for now has not been asked in vain.
      if (!(error instanceof CredentialsError) || error.row.code === "access_denied") renewed();
      throw error;
    } finally {
      renewing = undefined;
    }
  };
  /** Which of two comes first is for the monotonic clock to say, since it is never set. */
  const wasRenewedSince = (startedAt: Instant): boolean =>
    renewedAt !== undefined && renewedAt.monotonic >= startedAt.monotonic;
  /** Throws where the credentials were renewed a moment ago in vain. */
  const renewAfter = async (refusal: unknown, startedAt: Instant): Promise<void> => {
    if (renewing === undefined) {
      if (wasRenewedSince(startedAt)) return;
      const agoMs = renewedAt === undefined ? Number.POSITIVE_INFINITY : elapsedMs(renewedAt);
      if (!accepted && agoMs < RENEWAL_PAUSE_MS) throw renewedInVain(refusal, agoMs);
      renewing = renewOnce();
    }
    await renewing;
  };
  const attempt = async <Answer>({ signal }: AwsKmsCallOptions, call: () => Promise<Answer>): Promise<Answer> => {
    const startedAt = readInstant();
    const run = async (since: Instant): Promise<Answer> => {
      const answer = await call();
      if (renewedAt === undefined || since.monotonic >= renewedAt.monotonic) accepted = true;
      return answer;
    };
    try {
      return await run(startedAt);
    } catch (error) {
      if (!isCredentialRefusal(error)) throw error;
      await renewAfter(error, startedAt);
      if (signal?.aborted === true) throw error;
    }
    return run(readInstant());
  };
  return {
    getPublicKey: (input, options) => attempt(options, () => api.getPublicKey(input, options)),
    sign: (input, options) => attempt(options, () => api.sign(input, options)),
  };
}

function renewedInVain(refusal: unknown, agoMs: number): CredentialsError {
  const { code, text } = CREDENTIALS_REFUSED;
  const asked = `new ones were asked for ${Math.round(agoMs)} ms ago, and are again ${RENEWAL_PAUSE_MS} ms after that`;
  return new CredentialsError({ code, text: `${text} (${asked})` }, refusal);
}
