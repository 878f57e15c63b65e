export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** It keeps nothing between two texts. Making one for each text takes longer than decoding. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses UTF-8 JSON. Returns `undefined` if it is invalid. A byte order mark is skipped (RFC 8259 section 8.1 allows it). The
 * parser's own error is dropped, because its message quotes the document.
 */
export function parseJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(UTF8.decode(body)) as unknown };
  } catch {
    return undefined;
  }
}
