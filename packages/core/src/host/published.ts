import type { JwksEndpoint } from "../endpoint/create-jwks-endpoint.ts";
import { ConfigurationError } from "../errors.ts";
import type { ActiveKey } from "../keyset/types.ts";

/** A key of the published document. */
export type DocumentKey = Readonly<Partial<Record<string, unknown>>>;

/** By the bytes of a document, which are the same object until something changes. */
const parsed = new WeakMap<Uint8Array, readonly DocumentKey[]>();

/**
 * The keys that an endpoint publishes now. None while it has no document. The endpoint reports that itself.
 *
 * @example
 * ```ts
 * import type { JwksEndpoint } from "@signpost/core";
 * import { publishedKeys } from "@signpost/core/adapter";
 *
 * export const publishedKids = (endpoint: JwksEndpoint): unknown[] => publishedKeys(endpoint).map((key) => key["kid"]);
 * ```
 */
export function publishedKeys(endpoint: Pick<JwksEndpoint, "respond">): readonly DocumentKey[] {
  const { status, body } = endpoint.respond("GET");
  if (status !== 200 || body === null) return [];
  const known = parsed.get(body);
  if (known !== undefined) return known;
  const { keys } = JSON.parse(new TextDecoder().decode(body)) as { keys: DocumentKey[] };
  parsed.set(body, keys);
  return keys;
}

/**
 * Checks at each signature that RPs can find the key. An endpoint created with `schedule.keySet()` instead of `schedule`
 * never publishes new keys. One created with the schedule withdraws a key that an older copy of its set goes on signing with.
 *
 * @throws ConfigurationError that names the endpoint.
 * @example
 * ```ts
 * import { currentKeySet, type JwksEndpoint, type KeySetSource } from "@signpost/core";
 * import { requirePublished } from "@signpost/core/adapter";
 *
 * export function requireSameKeys(endpoint: JwksEndpoint, keys: KeySetSource): void {
 *   requirePublished(endpoint, currentKeySet(keys).active);
 * }
 * ```
 */
export function requirePublished(
  endpoint: Pick<JwksEndpoint, "respond">,
  { keyId, publicKey: { x, y } }: ActiveKey,
): void {
  if (publishedKeys(endpoint).some((key) => key["kid"] === keyId && key["x"] === x && key["y"] === y)) return;
  const problem = `must be created with the same keys: it does not publish the active key ${JSON.stringify(keyId)}`;
  throw new ConfigurationError("endpoint", problem);
}
