import { TokenError } from "../errors.ts";
import type { JsonObject } from "../jwk/json.ts";
import { isObject, parseJson } from "../jwk/json.ts";

/** A parsed header without extensions. */
export interface JwsHeader {
  readonly header: JsonObject;
  readonly alg: string;
}

/** A parsed compact JWS. Nothing in it is trusted yet. */
export interface CompactJws extends JwsHeader {
  readonly claims: JsonObject;
  readonly signature: Uint8Array;
}

/** Maximum length of a token, in characters. */
const MAX_LENGTH = 65_536;

/**
 * Parses a compact JWS strictly by RFC 7515: three parts, unpadded base64url without spare bits, UTF-8, JSON objects. `crit` names
 * extensions that must be understood, and none is supported (section 4.1.11). `b64` would change the signed bytes (RFC 7797).
 *
 * `known` returns the header of an earlier token with the same text, so that it is not parsed again.
 */
export function parseCompactJws(jwt: string, known?: (text: string) => JwsHeader | undefined): CompactJws {
  if (typeof jwt !== "string") throw malformed();
  if (jwt.length > MAX_LENGTH) throw new TokenError("malformed_jwt", `expected at most ${MAX_LENGTH} characters`);
  const parts = jwt.split(".");
  const same = known?.(parts[0] ?? "");
  const [header, claims, signature] = [same?.header ?? jsonPart(parts[0]), jsonPart(parts[1]), bytesPart(parts[2])];
  if (parts.length !== 3 || header === undefined || claims === undefined || signature === undefined) throw malformed();
  const { alg } = same ?? readHeader(header);
  return { header, alg, claims, signature };
}

function readHeader(header: JsonObject): JwsHeader {
  for (const name of ["crit", "b64"]) {
    if (Object.hasOwn(header, name))
      throw new TokenError("unsupported_header", `${name}: not allowed in the header`, { claim: name });
  }
  const alg = header["alg"];
  if (typeof alg !== "string") throw new TokenError("alg_not_allowed", "alg: expected a string", { claim: "alg" });
  return { header, alg };
}

/** The media type in `typ`, in the short form (RFC 7515 section 4.1.9): lower case, without `application/`. */
export function typOf(header: JsonObject): string | undefined {
  const { typ } = header;
  if (typ === undefined) return undefined;
  if (typeof typ !== "string") throw new TokenError("invalid_typ", "typ: expected a string", { claim: "typ" });
  return typ.toLowerCase().replace(/^application\//, "");
}

/** Refuses a token with a `typ` that is not in `allowed`. `undefined` means no `typ`. */
export function requireTyp(header: JsonObject, allowed: readonly (string | undefined)[]): void {
  if (!allowed.includes(typOf(header))) {
    const names = allowed.map((typ) => typ ?? "none").join(" or ");
    throw new TokenError("invalid_typ", `typ: expected ${names}`, { claim: "typ" });
  }
}

function jsonPart(part: string | undefined): JsonObject | undefined {
  const bytes = part === "" ? undefined : bytesPart(part);
  const json = bytes === undefined ? undefined : parseJson(bytes)?.value;
  return isObject(json) ? json : undefined;
}

/** Not copied as by core's decodeBase64url, because the bytes are only read. */
function bytesPart(part: string | undefined): Uint8Array | undefined {
  if (part === undefined) return undefined;
  const bytes = Buffer.from(part, "base64url");
  return bytes.toString("base64url") === part ? bytes : undefined;
}

function malformed(): TokenError {
  return new TokenError("malformed_jwt", "expected a compact JWS of three unpadded base64url parts with JSON objects");
}
