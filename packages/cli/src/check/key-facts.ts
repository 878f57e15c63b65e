import { EncodingError } from "@signpost/core";
import type { PublicJwk } from "@signpost/core/adapter";
import { publicJwkFrom } from "@signpost/core/adapter";
import { maySignWith } from "./algorithms.ts";
import { excerpt } from "./excerpt.ts";

/** An entry of the set that is an object. */
export interface KeyFacts {
  readonly members: Readonly<Record<string, unknown>>;
  /** How findings name it: its kid, or its position. */
  readonly label: string;
  readonly kty: string | undefined;
  readonly kid: string | undefined;
  readonly use: unknown;
  readonly alg: unknown;
  /** The names of its members with a private or secret value. */
  readonly secrets: readonly string[];
  /** Whether its type and curve are ones that can be read here. */
  readonly isKnown: boolean;
  /** Undefined if the type or curve is unknown, or a member is wrong. */
  readonly jwk: PublicJwk | undefined;
  /** What is wrong with its key. */
  readonly fault: KeyFault | undefined;
  /** The names of its members whose value is null. */
  readonly nulls: readonly string[];
}

/** Why the key of an entry cannot be used. The text contains no value of the entry. */
export interface KeyFault {
  readonly kind: "malformed" | "weak";
  readonly problem: string;
}

/** The members that hold a secret, by type (RFC 7518 section 6, RFC 8037 section 2). `priv` is that of AKP. */
const SECRETS: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ["EC", ["d"]],
  ["RSA", ["d", "p", "q", "dp", "dq", "qi", "oth"]],
  ["OKP", ["d"]],
  ["oct", ["k"]],
  ["AKP", ["priv"]],
]);

/** In an entry without a type that is known, each of these names is taken for a secret: `"kty": "ec"` hides nothing. */
const ANY_SECRET: readonly string[] = [...new Set([...SECRETS.values()].flat())];

/** The curves that core can read. */
const CURVES: ReadonlySet<string> = new Set(["P-256", "P-384", "P-521", "Ed25519", "Ed448", "X25519", "X448"]);

/** Reads an entry of the set. */
export function readKey(entry: Readonly<Record<string, unknown>>, index: number): KeyFacts {
  // Many serializers write null for a member that is absent.
  const members = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
  const kty = textOf(members["kty"]);
  const kid = textOf(members["kid"]);
  const crv = members["crv"];
  const isKnown = kty === "RSA" || ((kty === "EC" || kty === "OKP") && (typeof crv !== "string" || CURVES.has(crv)));
  return {
    members,
    label: kid === undefined ? `key ${index + 1}` : `key ${excerpt(kid, 60)}`,
    kty,
    kid,
    use: members["use"],
    alg: members["alg"],
    secrets: (SECRETS.get(kty) ?? ANY_SECRET).filter((name) => members[name] !== undefined),
    nulls: Object.keys(entry).filter((name) => entry[name] === null),
    isKnown,
    ...(isKnown ? readPublicKey(members) : { jwk: undefined, fault: undefined }),
  };
}

/** What makes two keys differ. A value that is not text makes no key, and may be nested deeper than can be written. */
export function valueOf(members: Readonly<Record<string, unknown>>): string {
  const values = ["kty", "crv", "x", "y", "n", "e", "pub"].map((name) => members[name]);
  return JSON.stringify(values.map((value) => (typeof value === "string" ? value : typeof value)));
}

/** Curves of keys that only agree on other keys (RFC 8037 section 3.2). */
const AGREEMENT_CURVES: ReadonlySet<unknown> = new Set(["X25519", "X448"]);

/** Whether the entry may verify signatures, by its curve and by what it says of its purpose. */
export function isForSignatures({ use, alg, kty, members }: KeyFacts): boolean {
  const operations = members["key_ops"];
  if (use !== undefined && use !== "sig") return false;
  if (Array.isArray(operations) && !operations.includes("verify")) return false;
  if (kty === "OKP" && AGREEMENT_CURVES.has(members["crv"])) return false;
  return typeof alg !== "string" || maySignWith(alg, members);
}

function readPublicKey(members: Readonly<Record<string, unknown>>): Pick<KeyFacts, "jwk" | "fault"> {
  try {
    // Only the members of a public key, so that a private one is reported once, by its own rule.
    const { kty, crv, x, y, n, e } = members;
    return { jwk: publicJwkFrom({ kty, crv, x, y, n, e }, "key"), fault: undefined };
  } catch (error) {
    if (!(error instanceof EncodingError)) throw error;
    const problem = error.message.replace(/^key: /, "");
    return { jwk: undefined, fault: { kind: error.code === "weak_key" ? "weak" : "malformed", problem } };
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
