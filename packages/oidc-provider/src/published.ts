import { type ActiveKey, ConfigurationError } from "@signpost/core";
import type { JwksEndpointLike } from "./mount-jwks.ts";

/** A key of the published document. */
export type Published = Readonly<Partial<Record<string, unknown>>>;

/** The keys that an endpoint publishes now. Undefined while it has no document. The endpoint reports that itself. */
export function publishedKeys(endpoint: JwksEndpointLike): readonly Published[] | undefined {
  const { status, body } = endpoint.respond("GET");
  if (status !== 200 || body === null) return undefined;
  return (JSON.parse(new TextDecoder().decode(body)) as { keys: Published[] }).keys;
}

/**
 * Checks that RPs can find a key before it signs. An endpoint created with `schedule.keySet()` instead of `schedule` never
 * publishes new keys.
 */
export function publicationCheck(): (endpoint: JwksEndpointLike, key: ActiveKey) => void {
  const found = new WeakSet<ActiveKey>();
  return (endpoint, key) => {
    if (found.has(key)) return;
    const keys = publishedKeys(endpoint);
    if (keys === undefined) return;
    if (!keys.some(({ kid, x }) => kid === key.keyId && x === key.publicKey.x)) {
      throw new ConfigurationError(
        "endpoint",
        `must be created with the same keys: it does not publish the active key ${JSON.stringify(key.keyId)}`,
      );
    }
    found.add(key);
  };
}
