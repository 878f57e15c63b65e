import type { OpenKey } from "./backend.ts";

// RFC 7512 section 2.3: pk11-pchar and pk11-qchar stand for themselves, everything else is percent-encoded.
const PATH_CHARACTERS = /^[A-Za-z0-9\-._~:[\]@!$'()*+,=&]$/;
const QUERY_CHARACTERS = /^[A-Za-z0-9\-._~:[\]@!$'()*+,=/?|]$/;

/** The canonical URI of a key that is open: token, serial, label, id and module. Never a PIN. */
export function formatKeyUri(module: string, { token, label, id }: OpenKey): string {
  const path = [
    attribute("token", token.label),
    attribute("serial", token.serial),
    attribute("object", label),
    id.length === 0 ? "" : `id=${percentEncodeAll(id)}`,
    "type=private",
  ].filter((part) => part !== "");
  return `pkcs11:${path.join(";")}?module-path=${percentEncode(Buffer.from(module, "utf8"), QUERY_CHARACTERS)}`;
}

function attribute(name: string, value: string): string {
  return value === "" ? "" : `${name}=${percentEncode(Buffer.from(value, "utf8"), PATH_CHARACTERS)}`;
}

function percentEncode(bytes: Uint8Array, plain: RegExp): string {
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    return plain.test(character) ? character : percentEncodeByte(byte);
  }).join("");
}

/** CKA_ID is opaque bytes: each one is encoded (RFC 7512 section 2.3). */
function percentEncodeAll(bytes: Uint8Array): string {
  return Array.from(bytes, percentEncodeByte).join("");
}

function percentEncodeByte(byte: number): string {
  return `%${byte.toString(16).padStart(2, "0").toUpperCase()}`;
}
