// By the specification CKA_LABEL is UTF-8. In practice it holds whatever the tool that made the key wrote. So labels are
// bytes here.

/** A label as text: in quotes, and percent-encoded as in a key URI where it is not UTF-8. */
export function describeLabel(label: Uint8Array): string {
  const text = utf8(label);
  if (text !== undefined) return JSON.stringify(text);
  return `"${Array.from(label, readable).join("")}" (not UTF-8)`;
}

/** The bytes decoded as UTF-8; undefined if they are not valid UTF-8. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function readable(byte: number): string {
  const character = String.fromCharCode(byte);
  return /^[A-Za-z0-9 ._-]$/.test(character) ? character : `%${byte.toString(16).padStart(2, "0").toUpperCase()}`;
}
