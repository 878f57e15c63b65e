import { decodeBase64url } from "./base64url.ts";
import { affineCoordinates, EC_CURVES, uncompressedPoint } from "./ec-point.ts";
import type { EcCurveName, P256PublicJwk } from "./ec-point.ts";
import { fault, unsupportedKey } from "./fault.ts";
import { given } from "../given.ts";
import type { Subject } from "./fault.ts";

/** Only the members that make up a public key, in the order of the JWKS document. */
export type PublicJwk =
  | { readonly kty: "EC"; readonly crv: EcCurveName; readonly x: string; readonly y: string }
  | { readonly kty: "RSA"; readonly n: string; readonly e: string }
  | { readonly kty: "OKP"; readonly crv: string; readonly x: string };

/** The members of a JWK that make up a public key. */
export interface JwkMembers {
  /** Key type. */
  readonly kty?: string | undefined;
  /** Curve of an EC or OKP key. */
  readonly crv?: string | undefined;
  /** First coordinate, or the public key of an OKP key. */
  readonly x?: string | undefined;
  /** Second coordinate. */
  readonly y?: string | undefined;
  /** Modulus of an RSA key. */
  readonly n?: string | undefined;
  /** Exponent of an RSA key. */
  readonly e?: string | undefined;
}

/** A JWK from anywhere: node:crypto, Web Crypto, or any other type with these members. It may have other members too. */
export type JwkInput = JwkMembers | (JwkMembers & { readonly [member: string]: unknown });

type Members = Readonly<Record<string, unknown>>;

/** A member as text, and its decoded bytes. */
interface Decoded {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** The private and symmetric members of all JWK types (RFC 7518 section 6, RFC 8037 section 2), and `priv` of AKP. */
export const PRIVATE_JWK_MEMBERS: readonly string[] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/** Length of `x` in bytes, by curve (RFC 8037 section 2). */
const OKP_BYTES: ReadonlyMap<string, number> = new Map([
  ["Ed25519", 32],
  ["Ed448", 57],
  ["X25519", 32],
  ["X448", 56],
]);

/** Refuses a JWK with a private member. A member that is `undefined` counts as absent, as in JSON. */
export function refusePrivateMembers(jwk: unknown, subject: Subject): void {
  const members = membersOf(jwk, subject);
  for (const name of PRIVATE_JWK_MEMBERS) {
    if (members[name] !== undefined) {
      throw fault(subject, `expected a public key, but it has the private member "${name}"`);
    }
  }
}

/**
 * The public members of an EC (P-256, P-384, P-521), RSA or OKP key. Each must be the canonical encoding of its value:
 * full size and unpadded base64url. EC points must be on their curve. Other members are left out, including private
 * ones.
 */
export function readPublicJwk(jwk: unknown, subject: Subject): PublicJwk {
  const members = membersOf(jwk, subject);
  const kty = members["kty"];
  switch (kty) {
    case "EC":
      return ecMembers(members, subject);
    case "RSA":
      return { kty, n: unsignedInteger(members, "n", subject), e: unsignedInteger(members, "e", subject) };
    case "OKP":
      return okpMembers(members, subject);
    default:
      if (typeof kty !== "string") throw fault(subject, 'the member "kty" is missing');
      throw unsupportedKey(subject, 'the member "kty" is not a supported key type');
  }
}

/**
 * Exactly `{ kty, crv, x, y }` of a P-256 public JWK, frozen. Private members, other key types and curves, points off the
 * curve and non-canonical coordinates are refused. Other members are left out.
 */
export function readP256PublicJwk(jwk: unknown, subject: Subject): P256PublicJwk {
  refusePrivateMembers(jwk, subject);
  const members = readPublicJwk(jwk, subject);
  if (members.kty !== "EC" || members.crv !== "P-256") {
    throw unsupportedKey(subject, "expected an EC key on the curve P-256");
  }
  return Object.freeze({ kty: members.kty, crv: members.crv, x: members.x, y: members.y });
}

function ecMembers(members: Members, subject: Subject): PublicJwk {
  const curve = EC_CURVES.get(curveName(members, subject));
  if (curve === undefined) throw unsupportedKey(subject, 'the member "crv" is not a supported curve');
  const x = fixedSize(members, "x", curve.coordinateBytes, subject);
  const y = fixedSize(members, "y", curve.coordinateBytes, subject);
  affineCoordinates(curve, uncompressedPoint(Buffer.concat([x.bytes, y.bytes])), subject);
  return { kty: "EC", crv: curve.crv, x: x.text, y: y.text };
}

function okpMembers(members: Members, subject: Subject): PublicJwk {
  const crv = curveName(members, subject);
  const bytes = OKP_BYTES.get(crv);
  if (bytes === undefined) throw unsupportedKey(subject, 'the member "crv" is not a supported curve');
  return { kty: "OKP", crv, x: fixedSize(members, "x", bytes, subject).text };
}

function curveName(members: Members, subject: Subject): string {
  const crv = members["crv"];
  if (typeof crv !== "string") throw fault(subject, 'the member "crv" is missing');
  return crv;
}

function fixedSize(members: Members, name: string, bytes: number, subject: Subject): Decoded {
  const decoded = base64urlMember(members, name, subject);
  if (decoded.bytes.length !== bytes) {
    throw fault(subject, `the member "${name}" has ${decoded.bytes.length} bytes, expected ${bytes}`);
  }
  return decoded;
}

/** Base64urlUInt (RFC 7518 section 2): as few bytes as possible. Zero is refused. */
function unsignedInteger(members: Members, name: string, subject: Subject): string {
  const { text, bytes } = base64urlMember(members, name, subject);
  if (bytes.length === 0 || bytes[0] === 0) {
    throw fault(subject, `the member "${name}" is empty or starts with a zero byte`);
  }
  return text;
}

function base64urlMember(members: Members, name: string, subject: Subject): Decoded {
  const text = members[name];
  if (typeof text !== "string") throw fault(subject, `the member "${name}" is missing or not a string`);
  const bytes = decodeBase64url(text);
  if (bytes === undefined) throw fault(subject, `the member "${name}" is not canonical unpadded base64url`);
  return { text, bytes };
}

function membersOf(jwk: unknown, subject: Subject): Members {
  if (!isObject(jwk)) throw fault(subject, `expected a JWK object, got ${given(jwk)}`);
  return jwk;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
