import { ConfigurationError } from "@signpost/core";
import { unknownKid } from "./failure.ts";

/** What of a token the plug looks at before it signs. */
export interface ReadSigningInput {
  /** Of the header that the host wrote. */
  readonly kid: string;
  /** Empty where the payload is not JSON. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Reads a JWS signing input (RFC 7515 section 5.1): the header, and the payload where it is JSON. The host puts what a
 * function of the OP's says into the header last, so that its algorithm may be another than that of the key.
 */
export function readSigningInput(signingInput: Uint8Array): ReadSigningInput {
  const [header = "", payload = ""] = Buffer.from(signingInput).toString("latin1").split(".", 2);
  const { alg, kid } = parsePart(header);
  if (typeof kid !== "string") throw unknownKid();
  if (alg !== "ES256") {
    throw new ConfigurationError("alg", 'expected "ES256" in the header, and no other from formats.customizers.jwt');
  }
  return { kid, claims: parsePart(payload) };
}

/** The header of a compact JWS, without a look at anything else of it. Empty where it cannot be read. */
export function readJoseHeader(token: string): Readonly<Record<string, unknown>> {
  return parsePart(token.split(".", 1)[0] ?? "");
}

function parsePart(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // A payload need not be JSON.
    return {};
  }
}
