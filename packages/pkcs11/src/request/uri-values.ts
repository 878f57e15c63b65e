import { ConfigurationError } from "@signpost/core";

// RFC 7512 section 2.3: pk11-pchar and pk11-qchar stand for themselves. Every other byte is percent-encoded.
export const PATH_CHARACTERS: RegExp = /^[A-Za-z0-9\-._~:[\]@!$'()*+,=&]$/;
export const QUERY_CHARACTERS: RegExp = /^[A-Za-z0-9\-._~:[\]@!$'()*+,=/?|]$/;

const ENCODED = /^%[0-9A-Fa-f]{2}$/;

/** The bytes of a value, percent-decoded. Each attribute decides what they mean. */
export function decodeValue(name: string, value: string, plain: RegExp): Uint8Array {
  const bytes: number[] = [];
  for (let index = 0; index < value.length;) {
    const character = value.charAt(index);
    const escape = value.slice(index, index + 3);
    if (plain.test(character)) {
      bytes.push(character.charCodeAt(0));
      index += 1;
    } else if (ENCODED.test(escape)) {
      bytes.push(Number.parseInt(escape.slice(1), 16));
      index += 3;
    } else {
      throw new ConfigurationError("uri", `${name}: percent-encode every character that RFC 7512 does not allow here`);
    }
  }
  return Uint8Array.from(bytes);
}

/** A text value: its bytes are UTF-8. */
export function decodeText(name: string, value: string, plain: RegExp): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(decodeValue(name, value, plain));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw new ConfigurationError("uri", `${name}: its percent-encoded bytes are not UTF-8`);
  }
}

/** Percent-encodes each byte that does not match `plain`, or every byte without `plain`. */
export function percentEncode(bytes: Uint8Array, plain?: RegExp): string {
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return plain?.test(character) === true ? character : `%${byte.toString(16).padStart(2, "0").toUpperCase()}`;
  }).join("");
}
