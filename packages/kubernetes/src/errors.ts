import { SignpostError } from "@signpost/core";
import { markErrorClass } from "@signpost/core/adapter";

/**
 * Why a request of kube-apiserver is refused.
 *
 * | code | meaning |
 * |---|---|
 * | `invalid_request` | not a message of the service |
 * | `invalid_claims` | not a JSON object in unpadded base64url, a name that is there twice in an object, or no whole numbers `iat` and `exp` |
 * | `wrong_issuer` | `iss` is not the issuer of the signer |
 * | `lifetime_too_long` | `exp - iat` is more than the longest lifetime |
 * | `lifetime_invalid` | `exp` is not after `iat`, or `iat` is more than a day in the future |
 */
export type KubernetesRequestErrorCode =
  | "invalid_request"
  | "invalid_claims"
  | "wrong_issuer"
  | "lifetime_too_long"
  | "lifetime_invalid";

/**
 * A request of kube-apiserver is refused. The message contains no claim.
 *
 * @example
 * ```ts
 * import { KubernetesRequestError, type KubernetesSigner } from "@signpost/kubernetes";
 *
 * export const isRefused = (signer: KubernetesSigner, claims: string): Promise<boolean> =>
 *   signer.sign(claims).then(
 *     () => false,
 *     (error: unknown) => error instanceof KubernetesRequestError,
 *   );
 * ```
 */
export class KubernetesRequestError extends SignpostError {
  static {
    markErrorClass(this.prototype, "KubernetesRequestError");
  }

  /** Name of the class. */
  override readonly name: string = "KubernetesRequestError";
  /** Machine-readable reason. */
  declare readonly code: KubernetesRequestErrorCode;

  constructor(code: KubernetesRequestErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}
