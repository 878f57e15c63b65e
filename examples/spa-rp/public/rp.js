import { createLocalJWKSet, errors, jwtVerify } from "jose";

const FORCED_REFETCH_INTERVAL_MS = 20_000;
const TIMEOUT_MS = 5_000;

/**
 * A key function for jose over the browser's own HTTP cache, which follows `Cache-Control` and revalidates with the
 * `ETag`. An unknown `kid` is asked for past every cache, at most once in 20 seconds.
 */
export function createBrowserKeySet(jwksUri) {
  let forcedAt = -Infinity;

  async function load(cache) {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(jwksUri, { cache, credentials: "omit", redirect: "error", signal });
    if (!response.ok) throw new Error(`The key set answered with status ${response.status}`);
    return createLocalJWKSet(await response.json());
  }

  const keySet = async (header, token) => {
    // jose would take the only key that fits. This OP names a key in every token.
    if (header.kid === undefined) throw new errors.JWTInvalid("expected a kid");
    try {
      return await (
        await load("default")
      )(header, token);
    } catch (error) {
      const unknownKid = error instanceof errors.JWKSNoMatchingKey;
      if (!unknownKid || performance.now() - forcedAt < FORCED_REFETCH_INTERVAL_MS) throw error;
      forcedAt = performance.now();
      return (await load("reload"))(header, token);
    }
  };
  /** Revalidates with the OP now. */
  keySet.refresh = async () => {
    await load("no-cache");
  };
  return keySet;
}

/**
 * The claims of an ID token. ES256 alone: what the OP signs with. The caller compares `nonce` with the one of its
 * request.
 */
export async function verifyIdToken(token, { issuer, clientId, keySet }) {
  const { payload } = await jwtVerify(token, keySet, {
    issuer,
    audience: clientId,
    algorithms: ["ES256"],
    requiredClaims: ["sub", "exp", "iat"],
  });
  return payload;
}
