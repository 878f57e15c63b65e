import { ConfigurationError } from "@signpost/core";
import type { OidcProviderSigningLike } from "./host.ts";
import type { TellOperator } from "./operator-reports.ts";
import type { Published } from "./published.ts";
import { readJoseHeader } from "./signing-input.ts";

// All asymmetric ones that the host may have a key for, except our own.
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES384 ES512 EdDSA Ed25519 ML-DSA-44 ML-DSA-65 ML-DSA-87".split(
  " ",
);

/** What the host signs with its own keys, next to ES256 of the plug. */
export interface HostAlgorithms {
  /** Whether it signs by an algorithm under a kid that is published. Undefined while that is not known. */
  signs(alg: string): boolean | undefined;
  /** Whether it is known to have no other key than ours. */
  hasNone(): boolean;
}

/**
 * Asks the host which other algorithms it has keys for, as during a move from RS256: its key store is its own, but it
 * signs an authorization response (JARM) for any client. What it signs goes nowhere. The operator is told of a key that
 * the endpoint does not publish.
 */
export function askHostAlgorithms(
  provider: OidcProviderSigningLike,
  published: () => readonly Published[],
  tell: TellOperator,
): HostAlgorithms {
  const kids = new Map<string, unknown>();
  const isPublished = (kid: unknown): boolean => published().some((key) => key.kid === kid);
  const ask = async (alg: string): Promise<void> => {
    const members = { clientId: "signpost", authorizationSignedResponseAlg: alg };
    const client: object = Object.assign(Object.create(provider.Client.prototype) as object, members);
    try {
      const token = await new provider.IdToken({}, { client: client as never }).issue({ use: "authorization" });
      kids.set(alg, readJoseHeader(token)["kid"]);
    } catch (error) {
      // That is how the host misses a key. Any other failure may pass, and says nothing.
      if (error instanceof TypeError) kids.set(alg, undefined);
    }
  };
  const askAll = async (): Promise<void> => {
    await Promise.all(ALGORITHMS.map(ask));
    for (const kid of new Set(kids.values())) {
      if (kid === undefined || isPublished(kid)) continue;
      const problem = `expected the host's own key ${JSON.stringify(kid)} too, since tokens that it signs cannot be verified`;
      tell(new ConfigurationError("legacyVerificationKeys", problem));
    }
  };
  void askAll();
  return {
    signs: (alg) => {
      if (!ALGORITHMS.includes(alg)) return false;
      return kids.has(alg) ? isPublished(kids.get(alg)) : undefined;
    },
    hasNone: () => kids.size === ALGORITHMS.length && [...kids.values()].every((kid) => kid === undefined),
  };
}
