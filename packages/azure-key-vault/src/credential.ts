import { ConfigurationError, SignerError } from "@signpost/core";
import { given, memberOf, withinDeadline } from "@signpost/core/adapter";
import type { AzureKeyVaultCredentialLike, AzureKeyVaultTokenFunction, AzureKeyVaultTokenOptions } from "./api.ts";
import { credentialError } from "./credential-errors.ts";

/** What a token is asked for. */
export interface TokenRequest {
  readonly scope: string;
  readonly tenantId: string | undefined;
  readonly claims: string | undefined;
}

/** A token, with the time that it is good for. */
export interface GivenToken {
  readonly token: string;
  /** From the time of its receipt on. Infinity if its end is not known. Milliseconds. */
  readonly lifeMs: number;
  /** When a new one should be requested, from the same time on. Milliseconds. */
  readonly renewAfterMs: number;
}

/** Asks for a token. Rejects with `SignerError`. */
export type AskForToken = (request: TokenRequest) => Promise<GivenToken>;

/** How long a credential may take. Afterward it is asked again. Milliseconds. */
export const CREDENTIAL_MS = 10_000;

/** A token is replaced this long before it ends, while calls still use it. Milliseconds. */
const MARGIN_MS = 120_000;

const TOKEN = /^[\x21-\x7e]{1,32768}$/;

/** Checks the option `credential`. */
export function readCredential(credential: unknown): void {
  if (typeof credential === "function" || typeof memberOf(credential, "getToken") === "function") return;
  throw new ConfigurationError(
    "credential",
    `expected a credential with the function getToken, or a function, got ${given(credential)}`,
  );
}

/** Asks the caller's credential, for at most 10 seconds, and not longer than until the signer closes. */
export function askCredential(
  credential: AzureKeyVaultCredentialLike | AzureKeyVaultTokenFunction,
  closing: AbortSignal,
): AskForToken {
  const ask = async (scope: string, options: AzureKeyVaultTokenOptions): Promise<unknown> =>
    typeof credential === "function" ? credential(scope, options) : credential.getToken(scope, options);
  return async ({ scope, tenantId, claims }) => {
    const options = {
      enableCae: true,
      ...(tenantId !== undefined && { tenantId }),
      ...(claims !== undefined && { claims }),
    };
    try {
      const answer = await withinDeadline((abortSignal) => ask(scope, { ...options, abortSignal }), {
        deadlineMs: CREDENTIAL_MS,
        signal: closing,
        message: `the credential gave no token within ${CREDENTIAL_MS} ms`,
      });
      return tokenFrom(answer);
    } catch (error) {
      throw credentialError(error);
    }
  };
}

function tokenFrom(answer: unknown): GivenToken {
  const token = typeof answer === "string" ? answer : memberOf(answer, "token");
  if (typeof token !== "string" || !TOKEN.test(token)) {
    const what = answer === null || answer === undefined ? "returned no token" : "returned something else than a token";
    throw new SignerError("access_denied", `the credential ${what}`);
  }
  if (typeof answer === "string") return { token, lifeMs: Infinity, renewAfterMs: Infinity };
  const end = memberOf(answer, "expiresOnTimestamp");
  if (typeof end === "number" && Number.isFinite(end)) {
    const lifeMs = end - Date.now();
    return { token, lifeMs, renewAfterMs: Math.min(lifeMs - MARGIN_MS, renewalOf(answer)) };
  }
  throw new SignerError("access_denied", "the credential returned a token without expiresOnTimestamp");
}

/** Credentials of `@azure/identity` name half of the life of a long token, to outlast an outage of the identity provider. */
function renewalOf(answer: unknown): number {
  const time = memberOf(answer, "refreshAfterTimestamp");
  return typeof time === "number" && Number.isFinite(time) ? time - Date.now() : Infinity;
}
