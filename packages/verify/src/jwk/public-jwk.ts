import { createPublicKey } from "node:crypto";
import { ed25519PointFault } from "./ed25519-point.ts";
import { isObject } from "./json.ts";

/** The members that make up a public key, and no other. */
export type PublicJwk =
  | { readonly kty: "RSA"; readonly n: string; readonly e: string }
  | { readonly kty: "EC"; readonly crv: string; readonly x: string; readonly y: string }
  | { readonly kty: "OKP"; readonly crv: string; readonly x: string };

export type KeyFault =
  | "symmetric"
  | "private"
  | "unsupported_kty"
  | "unsupported_crv"
  | "weak_rsa"
  | "small_order"
  | "malformed"
  | "not_an_object";

type Members = Readonly<Record<string, unknown>>;

const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"] as const;
const MAX_MEMBER_LENGTH = 8192;
const MIN_RSA_BITS = 2048;
/** OpenSSL refuses longer ones, after spending time on them. */
const MAX_RSA_BITS = 16_384;
const MAX_RSA_EXPONENT_BYTES = 8;

/** Coordinate length in bytes (RFC 7518 section 6.2.1.2, RFC 8037 section 2). */
const EC_COORDINATE_BYTES: ReadonlyMap<string, number> = new Map([
  ["P-256", 32],
  ["P-384", 48],
  ["P-521", 66],
]);
const ED25519_BYTES = 32;

/** The public key in an entry, by the letter of RFC 7518: what is not exact is refused, never mended. */
export function readPublicJwk(entry: unknown): PublicJwk | KeyFault {
  if (!isObject(entry)) return "not_an_object";
  if (Object.values(entry).some((value) => typeof value === "string" && value.length > MAX_MEMBER_LENGTH)) {
    return "malformed";
  }
  if (entry["kty"] === "oct") return "symmetric";
  if (PRIVATE_MEMBERS.some((name) => name in entry)) return "private";
  const key = readByType(entry);
  return typeof key === "string" || isImportable(key) ? key : "malformed";
}

function readByType(members: Members): PublicJwk | KeyFault {
  switch (members["kty"]) {
    case "RSA":
      return readRsa(members);
    case "EC":
      return readEc(members);
    case "OKP":
      return readOkp(members);
    default:
      return typeof members["kty"] === "string" ? "unsupported_kty" : "malformed";
  }
}

function readRsa({ n, e }: Members): PublicJwk | KeyFault {
  const modulus = base64urlUint(n);
  const exponent = base64urlUint(e);
  if (modulus === undefined || exponent === undefined) return "malformed";
  const bits = modulus.bytes.length * 8 - leadingZeroBits(modulus.bytes[0]);
  if (bits < MIN_RSA_BITS) return "weak_rsa";
  // An even exponent or 1 makes no RSA key; a long one, like a long modulus, only costs time.
  const odd = ((exponent.bytes.at(-1) ?? 0) & 1) === 1;
  const one = exponent.bytes.length === 1 && exponent.bytes[0] === 1;
  if (bits > MAX_RSA_BITS || exponent.bytes.length > MAX_RSA_EXPONENT_BYTES || !odd || one) return "malformed";
  return { kty: "RSA", n: modulus.text, e: exponent.text };
}

function readEc({ crv, x, y }: Members): PublicJwk | KeyFault {
  if (typeof crv !== "string") return "malformed";
  const length = EC_COORDINATE_BYTES.get(crv);
  if (length === undefined) return "unsupported_crv";
  const [first, second] = [base64url(x), base64url(y)];
  if (first?.bytes.length !== length || second?.bytes.length !== length) return "malformed";
  return { kty: "EC", crv, x: first.text, y: second.text };
}

function readOkp({ crv, x }: Members): PublicJwk | KeyFault {
  if (typeof crv !== "string") return "malformed";
  if (crv !== "Ed25519") return "unsupported_crv";
  const point = base64url(x);
  if (point?.bytes.length !== ED25519_BYTES) return "malformed";
  return ed25519PointFault(point.bytes) ?? { kty: "OKP", crv, x: point.text };
}

interface Decoded {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** Unpadded base64url without spare bits (RFC 7515 section 2): one value has one spelling. */
function base64url(value: unknown): Decoded | undefined {
  if (typeof value !== "string" || !/^[A-Za-z0-9_-]+$/.test(value)) return undefined;
  const bytes = Buffer.from(value, "base64url");
  return bytes.toString("base64url") === value ? { text: value, bytes } : undefined;
}

/** Base64urlUInt (RFC 7518 section 2): no leading zero octet. */
function base64urlUint(value: unknown): Decoded | undefined {
  const decoded = base64url(value);
  return decoded?.bytes[0] === 0 ? undefined : decoded;
}

function leadingZeroBits(byte = 0): number {
  return Math.clz32(byte) - 24;
}

/** node:crypto refuses points that are not on the curve. */
function isImportable(key: PublicJwk): boolean {
  try {
    createPublicKey({ key: { ...key }, format: "jwk" });
    return true;
  } catch {
    return false;
  }
}
