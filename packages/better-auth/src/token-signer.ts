import {
  ConfigurationError,
  currentKeySet,
  type JwksEndpoint,
  type KeySetSource,
  signJwt,
  type SignWithOptions,
} from "@signpost/core";
import { createTriedSigner, requirePublished, withinDeadline } from "@signpost/core/adapter";
import { claimsOf } from "./claims.ts";
import type { SignFunction } from "./host.ts";

/** Signs the tokens of the host. */
export interface TokenSigner {
  /** The host's hook. Rejects with Signpost's own errors. */
  readonly sign: SignFunction;
  /** Rejects if no token could be signed now. After a failure, it has the key sign again, and waits for that for 2 seconds. */
  requireSigning(): Promise<void>;
}

export interface TokenSignerOptions extends Pick<SignWithOptions, "verify"> {
  readonly source: KeySetSource;
  readonly endpoint: Pick<JwksEndpoint, "respond">;
  readonly reportExpiry: (exp: unknown) => void;
}

/**
 * Shorter than clients wait. The host does not notice that a client has given up. It would use up the code or the refresh
 * token when the key signs again, and refuse the retry, which has the same one.
 */
const RECOVERY = { deadlineMs: 2000, message: "the key failed before, and has not signed again within 2 seconds" };

export function createTokenSigner({ source, endpoint, verify, reportExpiry }: TokenSignerOptions): TokenSigner {
  const tried = createTriedSigner({ verify });
  // A schedule would refuse a token that lives too long, after the host has used up the code. The operator is told instead.
  const current = () => currentKeySet(source);
  return {
    sign: async (payload, header, signing) => {
      const { active } = current();
      requireAnyKey(signing, active.keyId);
      requirePublished(endpoint, active);
      const claims = claimsOf(payload);
      reportExpiry(claims.exp);
      const { typ, cty, ...members } = headerOf(header);
      const options = { typ, cty, header: members, iat: false, verify } as const;
      return tried.attempt(active, (signal) => signJwt(current, claims, { ...options, signal }));
    },
    requireSigning: async () => {
      const { active } = current();
      requirePublished(endpoint, active);
      await withinDeadline(() => tried.requireRecovered(active), RECOVERY);
    },
  };
}

function headerOf(header: object | undefined): { readonly typ?: string; readonly cty?: string } {
  return { ...header };
}

/** A resource of the OAuth provider may ask for an algorithm, or for one key, which would outlive its rotation. */
function requireAnyKey(signing: object | undefined, active: string): void {
  const { signingAlgorithm, signingKeyId }: Record<string, unknown> = { ...signing };
  if (signingAlgorithm !== undefined && signingAlgorithm !== "ES256") {
    const problem = `expected "ES256", the only algorithm of Signpost, got ${JSON.stringify(signingAlgorithm)}`;
    throw new ConfigurationError("signingAlgorithm", problem);
  }
  if (signingKeyId !== undefined && signingKeyId !== active) {
    const problem = `expected none, or the active key ${JSON.stringify(active)}, got ${JSON.stringify(signingKeyId)}`;
    throw new ConfigurationError("signingKeyId", problem);
  }
}
