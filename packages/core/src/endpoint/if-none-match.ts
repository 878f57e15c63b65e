import { trimWhitespace } from "./tokens.ts";

/** `ignore`: a weak member never matches. `match`: the weak comparison of RFC 9110 section 8.8.3.2. */
export type WeakIfNoneMatch = "ignore" | "match";

/**
 * Whether an `If-None-Match` value (RFC 9110 section 13.1.2) selects `304` for a strong entity tag. `*` only counts as the
 * whole value. A list is split at commas outside quotes, and each member is compared byte for byte. So a malformed member
 * never matches, and does not affect the others.
 */
export function matchesIfNoneMatch(value: string, etag: string, weak: WeakIfNoneMatch): boolean {
  if (value === etag) return true;
  const only = trimWhitespace(value, 0, value.length);
  if (only === "*") return true;
  const weakEtag = `W/${etag}`;
  let start = 0;
  let quoted = false;
  for (let index = 0; index <= value.length; index += 1) {
    if (index < value.length) {
      const character = value[index];
      // An entity tag has no escapes, so every quote opens or closes one.
      if (character === '"') quoted = !quoted;
      if (quoted || character !== ",") continue;
    }
    const member = trimWhitespace(value, start, index);
    if (member === etag || (weak === "match" && member === weakEtag)) return true;
    start = index + 1;
  }
  return false;
}
