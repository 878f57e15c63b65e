import { createHash, verify, X509Certificate } from "node:crypto";

/** What OpenID4VC HAIP 1.0, and the specifications below it, ask of an SD-JWT VC that a wallet gets from an issuer. */
export const HAIP_RULES = [
  "serialization", // HAIP 6.1: compact. RFC 9901 section 4: without a key binding JWT until a holder presents it
  "typ", // SD-JWT VC section 2.2.1
  "alg", // HAIP 7
  "x5c", // HAIP 6.1.1, RFC 7515 section 4.1.6
  "self-signed", // HAIP 6.1.1: the certificate of the key is not
  "anchor", // HAIP 6.1.1: not in x5c
  "path", // RFC 5280 section 6.1
  "signature",
  "vct", // SD-JWT VC section 2.2.2.1
  "iss", // optional in HAIP. As a URL, it has https
  "name", // not in HAIP: verifiers such as Credo look for iss in the names of the certificate
  "times", // RFC 7519 section 4.1
  "validity", // HAIP 6.1 recommends a limit: exp, status, or both
  "cnf", // HAIP 6.1: a JWK, which is public
  "status", // HAIP 6.1: a status_list
  "hash", // HAIP 8
  "disclosures", // RFC 9901 sections 4.2 and 7.1
  "disclosable", // SD-JWT VC section 2.2.2.2: some claims are never disclosed selectively
] as const;

export type HaipRule = (typeof HAIP_RULES)[number];

type Members = Readonly<Record<string, unknown>>;

/**
 * The rules that a credential breaks, in the order above. It must be bound to a key of the wallet. These are the checks of the
 * OpenID Foundation's conformance suite for HAIP that look at one credential, with Node only.
 */
export function brokenHaipRules(credential: string, trustAnchor: string): HaipRule[] {
  const [jwt = "", ...rest] = credential.split("~");
  const disclosures = rest.slice(0, -1);
  const [protectedHeader = "", payload = "", signature = ""] = jwt.split(".");
  const header = parse(protectedHeader);
  const claims = parse(payload);
  const anchor = new X509Certificate(trustAnchor);
  const chain = readChain(header["x5c"]);
  const [leaf] = chain ?? [];
  const now = Date.now() / 1000;
  const times = ["iat", "nbf", "exp"].map((name) => claims[name]);
  const [iat, nbf, exp] = times;
  const { iss } = claims;

  const kept: Record<HaipRule, boolean> = {
    serialization: /^[\w-]+\.[\w-]+\.[\w-]+~([\w-]+~)*$/.test(credential),
    typ: header["typ"] === "dc+sd-jwt",
    alg: header["alg"] === "ES256",
    x5c: chain !== undefined,
    "self-signed": leaf?.verify(leaf.publicKey) !== true,
    anchor: chain?.some(({ raw }) => raw.equals(anchor.raw)) !== true,
    path: chain === undefined || isPath([...chain, anchor]),
    signature: leaf === undefined || isSignedBy(leaf, `${protectedHeader}.${payload}`, signature),
    vct: typeof claims["vct"] === "string",
    iss: iss === undefined || (typeof iss === "string" && /^https:\/\/[^/]/.test(iss)),
    name: leaf === undefined || typeof iss !== "string" || isNamed(leaf, iss),
    times:
      times.every((time) => time === undefined || typeof time === "number") &&
      [iat, nbf].every((time) => time === undefined || Number(time) <= now + 60) &&
      (exp === undefined || Number(exp) > now),
    validity: exp !== undefined || claims["status"] !== undefined,
    cnf: isPublicJwk(membersOf(claims["cnf"])["jwk"]),
    status: claims["status"] === undefined || isStatusList(membersOf(claims["status"])["status_list"]),
    hash: (claims["_sd_alg"] ?? "sha-256") === "sha-256",
    disclosures: areDisclosures(disclosures, claims),
    disclosable: disclosures.every((disclosure) => !NOT_DISCLOSABLE.includes(String(parseList(disclosure)[1]))),
  };
  return HAIP_RULES.filter((rule) => !kept[rule]);
}

const NOT_DISCLOSABLE = ["iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "status"];

function readChain(x5c: unknown): X509Certificate[] | undefined {
  if (!Array.isArray(x5c) || x5c.length === 0) return undefined;
  try {
    return x5c.map((text) => new X509Certificate(Buffer.from(String(text), "base64")));
  } catch {
    return undefined;
  }
}

/** Each certificate is valid now, and signed by the next one, which is an authority. The last one is trusted. */
function isPath(certificates: readonly X509Certificate[]): boolean {
  const now = Date.now();
  return certificates.every((certificate, index) => {
    const issuer = certificates[index + 1];
    const isSigned =
      issuer === undefined || (issuer.ca && certificate.checkIssued(issuer) && verifies(certificate, issuer));
    return isSigned && Date.parse(certificate.validFrom) <= now && now <= Date.parse(certificate.validTo);
  });
}

const verifies = (certificate: X509Certificate, { publicKey }: X509Certificate): boolean =>
  certificate.verify(publicKey);

/** The whole URL, or its host. */
function isNamed({ subjectAltName = "" }: X509Certificate, iss: string): boolean {
  const names = subjectAltName.split(", ");
  return names.includes(`URI:${iss}`) || (URL.canParse(iss) && names.includes(`DNS:${new URL(iss).hostname}`));
}

function isSignedBy({ publicKey: key }: X509Certificate, input: string, signature: string): boolean {
  return verify("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
}

function isPublicJwk(jwk: unknown): boolean {
  const { kty, d, k } = membersOf(jwk);
  return typeof kty === "string" && d === undefined && k === undefined;
}

function isStatusList(list: unknown): boolean {
  const { idx, uri } = membersOf(list);
  return Number.isInteger(idx) && Number(idx) >= 0 && typeof uri === "string";
}

/** Each disclosure is in the payload by its digest, once, and has another salt and a name that the payload does not have. */
function areDisclosures(disclosures: readonly string[], claims: Members): boolean {
  const digests = Array.isArray(claims["_sd"]) ? claims["_sd"] : [];
  const salts = new Set(disclosures.map((disclosure) => parseList(disclosure)[0]));
  const isDisclosed = (disclosure: string): boolean => {
    const digest = createHash("sha256").update(disclosure).digest("base64url");
    const [, name, ...value] = parseList(disclosure);
    const isNew = name !== "_sd" && name !== "..." && !Object.hasOwn(claims, String(name));
    return value.length === 1 && isNew && digests.filter((known) => known === digest).length === 1;
  };
  return salts.size === disclosures.length && disclosures.every(isDisclosed);
}

function parse(part: string): Members {
  return membersOf(JSON.parse(Buffer.from(part, "base64url").toString()));
}

function parseList(disclosure: string): unknown[] {
  const value: unknown = JSON.parse(Buffer.from(disclosure, "base64url").toString());
  return Array.isArray(value) ? value : [];
}

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
