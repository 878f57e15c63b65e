import { createHash } from "node:crypto";
import { encodeBase64url } from "../encoding/base64url.ts";
import type { P256PublicJwk } from "../encoding/ec-point.ts";
import { spkiToJwk } from "../encoding/spki.ts";
import { ConfigurationError, EncodingError } from "../errors.ts";
import { given } from "../given.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { checkPath } from "./check-path.ts";
import { type Certificate, parseCertificate } from "./parse-certificate.ts";
import { type BundleBounds, type BundlePlace, type CertificateBundle, readBundle } from "./read-bundle.ts";

/** A member of a JWK, and a parameter of a JWS header, that shows certificates. */
export type CertificateMember = "x5c" | "x5t#S256";

/** The certificates of a signing key: option `certificates` of an entry of a key set. */
export interface EntryCertificates {
  /**
   * The certificate of the key, then its issuer, and so on, as CAs deliver it: PEM, or a list. 1 to 8 certificates, at most
   * 9,216 bytes in DER. A root at the end is not published.
   */
  readonly chain: CertificateBundle;
  /**
   * Certificates that verifiers trust. The path must end at one of them. It is not published. 1 to 100. Default: the chain is
   * checked up to its end.
   */
  readonly trustAnchors?: CertificateBundle | undefined;
  /** Which members the JWK gets. Default both. With `[]`, only `signJws` uses the chain. */
  readonly publish?: readonly CertificateMember[] | undefined;
}

/** How long a certificate of a chain is valid. */
export interface CertificateValidity {
  /** Which one it is, for messages: `certificate 1 of 2`, `the trust anchor`. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly notBefore: number;
  /** Milliseconds since 1970. It is still valid then. */
  readonly notAfter: number;
}

/** The certificates of a published key, after all checks. */
export interface KeyCertificates {
  /** The chain in base64 of DER (RFC 7517 section 4.7), the certificate of the key first. Without the trust anchor. */
  readonly x5c: readonly string[];
  /** SHA-256 of the certificate of the key in base64url (RFC 7517 section 4.9). */
  readonly "x5t#S256": string;
  /** Which of these members the document has. */
  readonly publish: readonly CertificateMember[];
  /** Of each certificate that was given, and of the trust anchor that issued the last one. */
  readonly validity: readonly CertificateValidity[];
}

/** The key that the certificates are for. */
export interface CertifiedKey {
  /** Its `kid`, for messages. */
  readonly keyId: string;
  /** The key that the first certificate must have. */
  readonly publicKey: P256PublicJwk;
}

const ENTRY_CERTIFICATES: OptionNames<EntryCertificates> = { chain: true, trustAnchors: true, publish: true };
const CHAIN_BOUNDS: BundleBounds = { maxCertificates: 8, maxBytes: 9216 };
const ANCHOR_BOUNDS: BundleBounds = { maxCertificates: 100, maxBytes: 262_144 };
const MEMBERS: readonly CertificateMember[] = Object.freeze<CertificateMember[]>(["x5c", "x5t#S256"]);

/**
 * Reads the option `certificates` of an entry: the chain belongs to the key, each certificate is issued by the next one, and the
 * path is one that verifiers accept (RFC 5280 section 6.1). Names, policies and revocation are left to them. `certificateFault`
 * checks the times.
 *
 * @throws ConfigurationError `invalid_certificate` that names the kid, the position in the chain and what was expected.
 * @example
 * ```ts
 * import { readCertificates } from "@signpost/core/adapter";
 * import type { EntryCertificates, Signer } from "@signpost/core";
 *
 * export const chainOf = (signer: Signer, certificates: EntryCertificates): readonly string[] =>
 *   readCertificates("certificates", certificates, { keyId: "sig-2026", publicKey: signer.publicKey }).x5c;
 * ```
 */
export function readCertificates(argument: string, value: unknown, key: CertifiedKey): KeyCertificates {
  assertOptions<EntryCertificates>(argument, value, ENTRY_CERTIFICATES);
  const { chain: bundle, trustAnchors, publish }: Partial<Record<keyof EntryCertificates, unknown>> = Object(value);
  const members = readMembers(`${argument}.publish`, publish);
  const kid = `kid ${JSON.stringify(key.keyId)}`;
  const chain = readAll({ argument: `${argument}.chain`, subject: kid }, bundle, CHAIN_BOUNDS, "certificate");
  const anchors =
    trustAnchors === undefined
      ? undefined
      : readAll({ argument: `${argument}.trustAnchors`, subject: kid }, trustAnchors, ANCHOR_BOUNDS, "trust anchor");
  const nameOf = (index: number): string => `certificate ${index + 1} of ${chain.length}`;
  const refuse = (index: number | "anchor", problem: string): ConfigurationError =>
    index === "anchor"
      ? refusal(`${argument}.trustAnchors`, `${kid}, the trust anchor that issued its chain: ${problem}`)
      : refusal(`${argument}.chain`, `${kid}, ${nameOf(index)}: ${problem}`);
  requireKeyFirst(chain, key.publicKey, refuse);
  const path = checkPath(chain, anchors, refuse);
  return Object.freeze({
    x5c: Object.freeze(path.chain.map(({ der }) => Buffer.from(der).toString("base64"))),
    "x5t#S256": encodeBase64url(
      createHash("sha256")
        .update(path.chain[0]?.der ?? "")
        .digest(),
    ),
    publish: members,
    validity: Object.freeze([
      ...chain.map((certificate, index) => validityOf(certificate, nameOf(index))),
      ...(path.anchor === undefined ? [] : [validityOf(path.anchor, "the trust anchor")]),
    ]),
  });
}

function readMembers(argument: string, value: unknown): readonly CertificateMember[] {
  if (value === undefined) return MEMBERS;
  const names: readonly unknown[] | undefined = Array.isArray(value) ? Array.from<unknown>(value) : undefined;
  const unknown = names?.find((name) => !MEMBERS.some((member) => member === name));
  if (names !== undefined && unknown === undefined && new Set(names).size === names.length) {
    // The order of the document does not depend on the option.
    return Object.freeze(MEMBERS.filter((member) => names.includes(member)));
  }
  throw new ConfigurationError(
    argument,
    `expected a list of "x5c" and "x5t#S256", each at most once, got ${given(value)}`,
  );
}

function readAll(place: BundlePlace, value: unknown, bounds: BundleBounds, label: string): readonly Certificate[] {
  const all = readBundle(place, value, bounds);
  return all.map((der, index) => {
    const certificate = parseCertificate(der);
    if (typeof certificate !== "string") return certificate;
    throw refusal(place.argument, `${place.subject}, ${label} ${index + 1} of ${all.length}: ${certificate}`);
  });
}

/** RFC 7517 section 4.7: the key of the first certificate is the key of the JWK. */
function requireKeyFirst(
  chain: readonly Certificate[],
  publicKey: P256PublicJwk,
  refuse: (index: number, problem: string) => ConfigurationError,
): void {
  const index = chain.findIndex((certificate) => isKeyOf(certificate, publicKey));
  if (index === 0) return;
  const elsewhere = index < 0 ? "" : `; certificate ${index + 1} has it, so put that one first`;
  throw refuse(0, `expected the certificate of the key of this entry, and it has another key${elsewhere}`);
}

function isKeyOf({ spki }: Certificate, publicKey: P256PublicJwk): boolean {
  try {
    const { x, y } = spkiToJwk(spki);
    return x === publicKey.x && y === publicKey.y;
  } catch (error) {
    // A key of another kind.
    if (error instanceof EncodingError) return false;
    throw error;
  }
}

function validityOf({ notBefore, notAfter }: Certificate, name: string): CertificateValidity {
  return Object.freeze({ name, notBefore, notAfter });
}

function refusal(argument: string, problem: string): ConfigurationError {
  return new ConfigurationError(argument, problem, { code: "invalid_certificate" });
}
