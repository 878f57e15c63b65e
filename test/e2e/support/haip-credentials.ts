import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { type Authority, createAuthority } from "@signpost/test-backends/authority";
import type { HaipRule } from "./haip-rules.ts";

/** The parts of a credential before it is signed. */
interface Parts {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
  /** Salt, name and value. */
  disclosures: unknown[][];
  /** Of the issuer. */
  key: KeyObject;
}

interface Pki {
  readonly root: Authority;
  readonly authority: Authority;
  /** The certificate of a key for the issuer, with these members changed, as base64 of DER. */
  certify(change?: Partial<Parameters<Authority["certify"]>[0]>, by?: Authority): string;
}

interface HaipCredential {
  readonly name: string;
  /** What it breaks. */
  readonly rules: readonly HaipRule[];
  /** The software that refuses it. */
  readonly refusedBy: readonly ("credo" | "yivi")[];
  readonly credential: string;
}

/** Credentials that no part of Signpost has made: a sound one, and one for each mistake. */
export interface HaipCredentials {
  /** The trust anchor, as PEM. */
  readonly anchor: string;
  readonly sound: string;
  readonly broken: readonly HaipCredential[];
}

const ISSUER = "https://issuer.example";
const BOTH = ["credo", "yivi"] as const;

export function createHaipCredentials(): HaipCredentials {
  const { publicKey, privateKey: key } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const root = createAuthority("Root");
  const authority = root.authority("Authority");
  const certify: Pki["certify"] = (change = {}, by = authority) => {
    const plan = { name: "issuer.example", publicKey, dns: "issuer.example", uri: ISSUER, ...change };
    return base64Of(by.certify(plan));
  };
  const pki: Pki = { root, authority, certify };
  const make = (change: (parts: Parts, pki: Pki) => void): string => {
    const parts = soundParts(key, [certify(), authority.base64]);
    change(parts, pki);
    return serialize(parts);
  };
  const sound = make(() => undefined);
  const changed = CHANGES.map(([name, rules, refusedBy, change]) => ({
    name,
    rules,
    refusedBy,
    credential: make(change),
  }));
  const texts = TEXTS.map(([name, rules, refusedBy, change]) => ({
    name,
    rules,
    refusedBy,
    credential: change(sound),
  }));
  return { anchor: root.pem, sound, broken: [...changed, ...texts] };
}

type Row<Change> = readonly [
  name: string,
  rules: HaipCredential["rules"],
  refusedBy: HaipCredential["refusedBy"],
  change: Change,
];

const CHANGES: readonly Row<(parts: Parts, pki: Pki) => void>[] = [
  ["another type", ["typ"], BOTH, ({ header }) => (header["typ"] = "jwt")],
  ["no type", ["typ"], BOTH, ({ header }) => delete header["typ"]],
  ["the algorithm of another curve", ["alg"], ["yivi"], ({ header }) => (header["alg"] = "ES384")],
  ["no x5c", ["x5c"], BOTH, ({ header }) => delete header["x5c"]],
  ["an empty x5c", ["x5c"], BOTH, ({ header }) => (header["x5c"] = [])],
  ["x5c of anything else", ["x5c"], BOTH, ({ header }) => (header["x5c"] = ["MIIB"])],
  [
    "a self-signed certificate",
    ["self-signed", "path", "name"],
    BOTH,
    (parts) => {
      const self = createAuthority("issuer.example");
      parts.key = self.privateKey;
      parts.header["x5c"] = [self.base64];
    },
  ],
  ["the trust anchor in x5c", ["anchor"], [], ({ header }, { root }) => (header["x5c"] as string[]).push(root.base64)],
  [
    "no authority between the certificate and the trust anchor",
    ["path"],
    BOTH,
    ({ header }, { certify }) => (header["x5c"] = [certify()]),
  ],
  [
    "an authority that the trust anchor did not certify",
    ["path"],
    BOTH,
    ({ header }, { certify }) => {
      const other = createAuthority("Root").authority("Authority");
      header["x5c"] = [certify({}, other), other.base64];
    },
  ],
  [
    "an expired certificate",
    ["path"],
    BOTH,
    ({ header }, { certify, authority }) => (header["x5c"] = [certify({ days: -1 }), authority.base64]),
  ],
  [
    "the certificate of another key",
    ["signature"],
    BOTH,
    ({ header }, { certify, authority }) => {
      const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      header["x5c"] = [certify({ publicKey }), authority.base64];
    },
  ],
  [
    "the certificates in another order",
    ["path", "signature", "name"],
    BOTH,
    ({ header }) => (header["x5c"] = (header["x5c"] as string[]).toReversed()),
  ],
  [
    "the certificate of another issuer",
    ["name"],
    ["credo"],
    ({ header }, { certify, authority }) => {
      header["x5c"] = [certify({ dns: "other.example", uri: "https://other.example" }), authority.base64];
    },
  ],
  ["no vct", ["vct"], BOTH, ({ claims }) => delete claims["vct"]],
  ["an iss without https", ["iss"], ["credo"], ({ claims }) => (claims["iss"] = "http://issuer.example")],
  ["an iat that has not come", ["times"], BOTH, ({ claims }) => (claims["iat"] = seconds(3600))],
  ["an nbf that has not come", ["times"], BOTH, ({ claims }) => (claims["nbf"] = seconds(3600))],
  ["an exp that is over", ["times"], BOTH, ({ claims }) => (claims["exp"] = seconds(-3600))],
  ["an exp that is text", ["times"], BOTH, ({ claims }) => (claims["exp"] = "2099-01-01")],
  ["neither exp nor status", ["validity"], [], ({ claims }) => delete claims["exp"]],
  ["no cnf", ["cnf"], [], ({ claims }) => delete claims["cnf"]],
  ["a cnf without a JWK", ["cnf"], BOTH, ({ claims }) => (claims["cnf"] = { "x5t#S256": "AAAA" })],
  [
    "the private key of the wallet",
    ["cnf"],
    ["credo"],
    ({ claims }) => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      claims["cnf"] = { jwk: privateKey.export({ format: "jwk" }) };
    },
  ],
  ["a status without a list", ["status"], [], ({ claims }) => (claims["status"] = {})],
  ["a status list without a URI", ["status"], BOTH, ({ claims }) => (claims["status"] = { status_list: { idx: 0 } })],
  ["digests by SHA-1", ["hash"], ["yivi"], ({ claims }) => (claims["_sd_alg"] = "sha-1")],
  [
    "a claim about vct that is disclosed",
    ["disclosable"],
    [],
    ({ disclosures }) => disclosures.push(["salt", "vct#integrity", "sha256-AAAA"]),
  ],
  [
    "one salt for two claims",
    ["disclosures"],
    [],
    ({ disclosures }) => disclosures.push([disclosures[0]?.[0], "age", 36]),
  ],
  ["a claim that is there twice", ["disclosures"], ["yivi"], ({ disclosures }) => disclosures.push(["salt", "iat", 1])],
];

/** Mistakes that a signature does not cover. */
const TEXTS: readonly Row<(sound: string) => string>[] = [
  ["no end", ["serialization"], BOTH, (sound) => sound.slice(0, -1)],
];

function soundParts(key: KeyObject, x5c: string[]): Parts {
  const wallet = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  return {
    header: { alg: "ES256", typ: "dc+sd-jwt", x5c },
    claims: { iss: ISSUER, iat: seconds(0), exp: seconds(3600), vct: `${ISSUER}/person`, cnf: { jwk: wallet } },
    disclosures: [[randomBytes(16).toString("base64url"), "given_name", "Ada"]],
    key,
  };
}

function serialize({ header, claims, disclosures, key }: Parts): string {
  const encoded = disclosures.map(encode);
  const digests = encoded.map((text) => createHash("sha256").update(text).digest("base64url"));
  const input = `${encode(header)}.${encode({ _sd_alg: "sha-256", ...claims, _sd: digests })}`;
  const signature = sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
  return [`${input}.${signature}`, ...encoded, ""].join("~");
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const seconds = (fromNow: number): number => Math.floor(Date.now() / 1000) + fromNow;
const base64Of = (pem: string): string => new X509Certificate(pem).raw.toString("base64");
