/** A part of this many characters says enough of a secret. In other forms it has to be longer, because it says less. */
const PART = 8;
const ENCODED_PART = 12;
const HEX_PART = 16;

/** Longer texts are not searched, and count as if they repeated something. */
const MAX_TEXT = 65_536;

/**
 * Whether a text repeats one of these secrets, or a part of 8 characters: as it is, in lower case, escaped for a URL or for
 * JSON, in base64 or in hexadecimal. Services and proxies repeat what they were sent, whole or cut, in their messages.
 *
 * @example
 * ```ts
 * import { repeatsSecret } from "@signpost/core/adapter";
 *
 * repeatsSecret("unknown token hvs.CAESIJ…", ["hvs.CAESIJrB8fPq"]); // true
 * ```
 */
export function repeatsSecret(text: string, secrets: readonly (string | undefined)[]): boolean {
  const known = secrets.flatMap((secret) => (secret === undefined || secret === "" ? [] : [secret]));
  if (known.length === 0 || text === "") return false;
  if (text.length > MAX_TEXT) return true;
  const dense = text.replaceAll(/\s+/g, "");
  const inText = searchIn(dense);
  const lower = dense.toLowerCase();
  const inLowerText = searchIn(lower);
  return known.some((secret) => {
    const bytes = Buffer.from(secret);
    const denseSecret = secret.replaceAll(/\s+/g, "");
    return (
      // A whole secret may be short. A host name is in lower case.
      lower.includes(denseSecret.toLowerCase()) ||
      [secret, denseSecret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)].some(
        (form) => inText(form, PART),
      ) ||
      base64Forms(bytes).some((form) => inText(form, ENCODED_PART)) ||
      inLowerText(denseSecret.toLowerCase(), ENCODED_PART) ||
      inLowerText(bytes.toString("hex"), HEX_PART)
    );
  });
}

/** Tells whether the text and another one have a part of this length in common. */
function searchIn(text: string): (other: string, length: number) => boolean {
  const parts = new Map<number, ReadonlySet<string>>();
  return (other, length) => {
    const known = parts.get(length) ?? new Set(partsOf(text, length));
    parts.set(length, known);
    for (const part of partsOf(other, length)) if (known.has(part)) return true;
    return false;
  };
}

function* partsOf(text: string, length: number): Generator<string> {
  for (let at = 0; at + length <= text.length; at += 1) yield text.slice(at, at + length);
}

/** At each of the three places where it can begin within a longer text, in both alphabets. */
function base64Forms(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]);
    // The first group also holds what is before, and the last one what follows.
    const middle = (text: string): string => text.slice(before === 0 ? 0 : 4, Math.floor(all.length / 3) * 4);
    return [middle(all.toString("base64")), middle(all.toString("base64url"))];
  });
}
