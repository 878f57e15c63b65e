import { createLocalJWKSet, errors, jwtVerify } from "jose";

const FORCED_REFETCH_INTERVAL_MS = 20_000;
const TIMEOUT_MS = 5_000;

/**
 * A key function for jose that uses the browser's HTTP cache, which follows `Cache-Control` and revalidates with the `ETag`. For
 * an unknown `kid` it bypasses every cache, at most once in 20 seconds.
 */
export function createBrowserKeySet(jwksUri) {
  // On two clocks, because one may stop while the machine sleeps, and the other may be set back.
  let [forcedAt, forcedAtWall] = [-Infinity, -Infinity];
  const sinceForced = () => Math.max(performance.now() - forcedAt, Date.now() - forcedAtWall);

  async function load(cache) {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(jwksUri, { cache, credentials: "omit", redirect: "error", signal });
    if (!response.ok) throw new Error(`The key set answered with status ${response.status}`);
    return createLocalJWKSet(await response.json());
  }

  const keySet = async (header, token) => {
    // Without a kid, jose would use the only key that matches. This OP puts a kid into every token.
    if (typeof header.kid !== "string") throw new errors.JWTInvalid("expected a kid");
    try {
      return await (
        await load("default")
      )(header, token);
    } catch (error) {
      const unknownKid = error instanceof errors.JWKSNoMatchingKey;
      if (!unknownKid || sinceForced() < FORCED_REFETCH_INTERVAL_MS) throw error;
      [forcedAt, forcedAtWall] = [performance.now(), Date.now()];
      const reloaded = await load("reload").catch((failure) => {
        // Without an answer, the next token must not be blamed for the network.
        [forcedAt, forcedAtWall] = [-Infinity, -Infinity];
        throw failure;
      });
      return reloaded(header, token);
    }
  };
  /** Revalidates with the OP now. */
  keySet.refresh = async () => {
    await load("no-cache");
  };
  return keySet;
}

/**
 * The claims of an ID token. Accepts only ES256, which the OP signs with. The caller must compare `nonce` with the value in its
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
