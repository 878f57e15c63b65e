/** The parts of a JWS signing input as JSON. A part that is not a JSON object is empty. */
export interface ReadSigningInput {
  /** The members of the header. */
  readonly header: Readonly<Record<string, unknown>>;
  /** The members of the payload, which does not have to be JSON. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Reads what a host has signed (RFC 7515 section 5.1), without any checks. Also reads a compact JWS.
 *
 * @example
 * ```ts
 * import { readSigningInput } from "@signpost/core/adapter";
 *
 * export const kidOf = (token: string): unknown => readSigningInput(token).header["kid"];
 * ```
 */
export function readSigningInput(signingInput: Uint8Array | string): ReadSigningInput {
  const text = typeof signingInput === "string" ? signingInput : Buffer.from(signingInput).toString("latin1");
  const [header = "", payload = ""] = text.split(".", 2);
  return { header: parsePart(header), claims: parsePart(payload) };
}

function parsePart(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return typeof value === "object" && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}
