import { createLocalJWKSet, errors, jwtVerify } from "jose";

const FORCED_REFETCH_INTERVAL_MS = 20_000;

/**
 * A key function for jose over the browser's own HTTP cache, which follows `Cache-Control` and revalidates with the
 * `ETag`. An unknown `kid` is asked for past every cache, at most once in 20 seconds.
 */
export function createBrowserKeySet(jwksUri) {
  let forcedAt = -Infinity;

  async function load(cache) {
    const response = await fetch(jwksUri, { cache, credentials: "omit", redirect: "error" });
    if (!response.ok) throw new Error(`The key set answered with status ${response.status}`);
    return createLocalJWKSet(await response.json());
  }

  const keySet = async (header, token) => {
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

/** ES256 alone: what the OP signs with. */
export async function verifyIdToken(token, { issuer, clientId, keySet }) {
  const { payload } = await jwtVerify(token, keySet, { issuer, audience: clientId, algorithms: ["ES256"] });
  return payload;
}
