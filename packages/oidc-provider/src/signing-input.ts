import { ConfigurationError } from "@signpost/core";
import { unknownKid } from "./failure.ts";

/** The parts of a token that the plug checks before it signs. */
export interface ReadSigningInput {
  /** The kid in the header that the host wrote. */
  readonly kid: string;
  /** Empty if the payload is not JSON. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Reads a JWS signing input (RFC 7515 section 5.1): the header, and the payload if it is JSON. A function of the OP may
 * have changed the header, so its algorithm may differ from the key's.
 */
export function readSigningInput(signingInput: Uint8Array): ReadSigningInput {
  const [header = "", payload = ""] = Buffer.from(signingInput).toString("latin1").split(".", 2);
  const { alg, kid } = parsePart(header);
  if (typeof kid !== "string") throw unknownKid();
  if (alg !== "ES256") {
    throw new ConfigurationError("alg", 'expected "ES256" in the header; formats.customizers.jwt must not change it');
  }
  return { kid, claims: parsePart(payload) };
}

/** The header of a compact JWS, without any checks. Empty if it cannot be read. */
export function readJoseHeader(token: string): Readonly<Record<string, unknown>> {
  return parsePart(token.split(".", 1)[0] ?? "");
}

function parsePart(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // A payload does not have to be JSON.
    return {};
  }
}
