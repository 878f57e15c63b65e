import type { AwsKmsApi, AwsKmsCallOptions } from "./api.ts";
import { isCredentialRefusal } from "./errors.ts";

/** How long refused credentials are not asked for again. Milliseconds. */
const RENEWAL_PAUSE_MS = 5000;

/**
 * Lets a call try once more when its credentials were refused: after a Lambda was frozen, or a role was rotated, the
 * provider has newer ones, or the SDK has seen that the clock is off. Calls that fail together renew them once, and
 * credentials that stay refused are not asked for again for a while.
 */
export function withRenewedCredentials(api: AwsKmsApi, renew: () => Promise<void>): AwsKmsApi {
  let renewedAt = Number.NEGATIVE_INFINITY;
  let renewing: Promise<void> | undefined;

  const renewOnce = async (): Promise<void> => {
    try {
      await renew();
    } finally {
      renewedAt = performance.now();
      renewing = undefined;
    }
  };
  const mayTryAgain = async (startedAt: number): Promise<boolean> => {
    if (renewing === undefined) {
      if (renewedAt >= startedAt) return true;
      if (performance.now() - renewedAt < RENEWAL_PAUSE_MS) return false;
      renewing = renewOnce();
    }
    await renewing;
    return true;
  };
  const attempt = async <Answer>({ signal }: AwsKmsCallOptions, call: () => Promise<Answer>): Promise<Answer> => {
    const startedAt = performance.now();
    try {
      return await call();
    } catch (error) {
      if (!isCredentialRefusal(error) || !(await mayTryAgain(startedAt)) || signal?.aborted === true) throw error;
    }
    return call();
  };
  return {
    getPublicKey: (input, options) => attempt(options, () => api.getPublicKey(input, options)),
    sign: (input, options) => attempt(options, () => api.sign(input, options)),
  };
}
