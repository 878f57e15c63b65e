import { type ActiveKey, ConfigurationError } from "@signpost/core";
import type { JwksEndpointLike } from "./mount-jwks.ts";

/** A key of the published document. */
export type Published = Readonly<Partial<Record<string, unknown>>>;

/** By the bytes of a document, which are the same object until something changes. */
const parsed = new WeakMap<Uint8Array, readonly Published[]>();

/** The keys that an endpoint publishes now. None while it has no document. The endpoint reports that itself. */
export function publishedKeys(endpoint: JwksEndpointLike): readonly Published[] {
  const { status, body } = endpoint.respond("GET");
  if (status !== 200 || body === null) return [];
  const known = parsed.get(body);
  if (known !== undefined) return known;
  const { keys } = JSON.parse(new TextDecoder().decode(body)) as { keys: Published[] };
  parsed.set(body, keys);
  return keys;
}

/**
 * Checks at each signature that RPs can find the key. An endpoint created with `schedule.keySet()` instead of `schedule`
 * never publishes new keys. One created with the schedule withdraws a key that an older copy of its set goes on signing with.
 */
export function requirePublished(endpoint: JwksEndpointLike, { keyId, publicKey: { x, y } }: ActiveKey): void {
  if (publishedKeys(endpoint).some((key) => key["kid"] === keyId && key["x"] === x && key["y"] === y)) return;
  const problem = `must be created with the same keys: it does not publish the active key ${JSON.stringify(keyId)}`;
  throw new ConfigurationError("endpoint", problem);
}
