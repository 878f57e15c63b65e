// CKA_LABEL is UTF-8 by the specification, and whatever the tool that made the key has put there. So labels are bytes here.

/** A label for people: its text in quotes, or, where it is not UTF-8, its bytes as a key URI has them. */
export function describeLabel(label: Uint8Array): string {
  const text = utf8(label);
  if (text !== undefined) return JSON.stringify(text);
  return `"${Array.from(label, readable).join("")}" (not UTF-8)`;
}

/** The text that the bytes are in UTF-8, all of it; undefined when they are not. */
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
