import { createHash, X509Certificate } from "node:crypto";
import type { PublicJwk } from "@signpost/core/adapter";
import { isObject } from "../facts.ts";
import type { Facts } from "../facts.ts";
import { isForSignatures } from "../key-facts.ts";
import type { KeyFacts } from "../key-facts.ts";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";

/** The members whose value RFC 7517 section 4 defines as text. */
const TEXT_MEMBERS = ["kty", "use", "alg", "kid", "x5u", "x5t", "x5t#S256"] as const;

/** The entries of the set and the keys in them. */
export const KEY_RULES: readonly Rule[] = [
  {
    id: "key-private",
    title: "No private or secret values",
    clause: "OIDC Discovery §3",
    judge: perKey(privateMembers),
  },
  { id: "key-entry", title: "Every entry is a JWK", clause: "RFC 7517 §4", judge: entries },
  { id: "key-value", title: "Exact coordinates and numbers", clause: "RFC 7518 §6, RFC 8037 §2", judge: perKey(value) },
  { id: "key-strength", title: "RSA keys have 2048 bits or more", clause: "RFC 7518 §3.3", judge: perKey(strength) },
  {
    id: "key-certificate",
    title: "x5c and x5t fit the key",
    clause: "RFC 7517 §4.7 to §4.9",
    judge: perKey(certificates),
  },
  { id: "key-signing", title: "At least one key verifies signatures", clause: "OIDC Discovery §3", judge: signing },
];

type Judge = (key: KeyFacts) => readonly CheckFinding[];

/** A rule that looks at one key at a time. */
export function perKey(judge: Judge): Rule["judge"] {
  return ({ document, keys }) =>
    document === undefined || "fault" in document ? skipped("no set") : findings(keys.flatMap(judge));
}

function privateMembers({ label, secrets, kty }: KeyFacts): readonly CheckFinding[] {
  if (secrets.length === 0) return [];
  const seen = `${label} (${excerpt(kty ?? "no kty", 20)}) has ${secrets.join(", ")}`;
  const advice = "Everyone can sign as this issuer. Revoke the key now, then publish only public members.";
  return [{ severity: "must", seen, advice }];
}

function entries({ document, keys }: Facts): Outcome {
  if (document === undefined || "fault" in document) return skipped("no set");
  const strangers = document.entries.flatMap((entry, index): readonly CheckFinding[] =>
    isObject(entry)
      ? []
      : [
          {
            severity: "must",
            seen: `key ${index + 1} is not a JSON object`,
            advice: "Some relying parties refuse the whole set. Remove it.",
          },
        ],
  );
  return findings([...strangers, ...keys.flatMap(members)]);
}

function members(key: KeyFacts): readonly CheckFinding[] {
  const { label, kty, isKnown, nulls } = key;
  const wrong = TEXT_MEMBERS.filter((name) => {
    const given = key.members[name];
    return nulls.includes(name) || (given !== undefined && typeof given !== "string");
  });
  const faults = wrong.map((name): CheckFinding => {
    return {
      severity: "must",
      seen: `${label}: "${name}" is not text`,
      advice: `Send "${name}" as a string, or leave it out.`,
    };
  });
  if (kty === undefined && !wrong.includes("kty")) {
    return [...faults, { severity: "must", seen: `${label}: no "kty"`, advice: "Every JWK needs its key type." }];
  }
  if (kty === undefined || isKnown || kty === "oct") return faults;
  const advice =
    "Not checked further. Relying parties should ignore a key that they do not know, but some refuse the whole set.";
  return [
    ...faults,
    { severity: "note", seen: `${label}: key type ${excerpt(kty, 20)}${curve(key)} is not known here`, advice },
  ];
}

function curve({ members }: KeyFacts): string {
  return typeof members["crv"] === "string" ? ` with curve ${excerpt(members["crv"], 20)}` : "";
}

function value({ label, fault }: KeyFacts): readonly CheckFinding[] {
  if (fault?.kind !== "malformed") return [];
  const advice =
    "Relying parties refuse the key, or compute another one. Encode it exactly: full size, base64url, no padding.";
  return [{ severity: "must", seen: `${label}: ${excerpt(fault.problem, 200)}`, advice }];
}

function strength({ label, fault }: KeyFacts): readonly CheckFinding[] {
  if (fault?.kind !== "weak") return [];
  return [{ severity: "must", seen: `${label}: ${excerpt(fault.problem, 200)}`, advice: "Rotate to a longer key." }];
}

function certificates(key: KeyFacts): readonly CheckFinding[] {
  const { label, members } = key;
  const chain = members["x5c"];
  if (chain === undefined) return [];
  const advice = "Publish the certificate of this key, or leave x5c and x5t out.";
  const fault = (seen: string): readonly CheckFinding[] => [{ severity: "must", seen: `${label}: ${seen}`, advice }];
  const values: readonly unknown[] = Array.isArray(chain) ? chain : [];
  const [first] = values;
  if (typeof first !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(first))
    return fault("x5c is not an array of base64 DER");
  const der = Buffer.from(first, "base64");
  const certificate = readCertificate(der);
  if (certificate === undefined) return fault("the first x5c value is not a certificate");
  // Nimbus and go-jose refuse the whole set for it.
  const broken = values.findIndex(
    (value) => typeof value !== "string" || readCertificate(Buffer.from(value, "base64")) === undefined,
  );
  if (broken > 0) return fault(`x5c value ${broken + 1} is not a certificate`);
  if (key.jwk !== undefined && !isKeyOf(certificate, key.jwk))
    return fault("the key of the first x5c value is another one");
  return [
    ...(isThumbprint(members["x5t"], der, "sha1") ? [] : fault("x5t is not the thumbprint of the certificate")),
    ...(isThumbprint(members["x5t#S256"], der, "sha256")
      ? []
      : fault("x5t#S256 is not the thumbprint of the certificate")),
  ];
}

/** Node reads PEM too, and ignores bytes after the certificate. Verifiers refuse both. */
function readCertificate(der: Uint8Array): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(der);
    return certificate.raw.equals(der) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

function isKeyOf(certificate: X509Certificate, jwk: PublicJwk): boolean {
  if (jwk.kty === "RSA" && isForPssOnly(certificate)) return hasModulus(certificate, jwk.n);
  const certified = certifiedJwk(certificate);
  return Object.entries(jwk).every(([name, member]) => certified[name] === member);
}

/** Node makes no JWK of such a key, which is an RSA key all the same (RFC 4055 section 1.2). */
function isForPssOnly({ publicKey }: X509Certificate): boolean {
  return publicKey.asymmetricKeyType === "rsa-pss";
}

function hasModulus({ publicKey }: X509Certificate, n: string): boolean {
  return publicKey.export({ format: "der", type: "spki" }).includes(Buffer.from(n, "base64url"));
}

/** Empty for a key that no JWK can hold: DSA, a curve without a name. */
function certifiedJwk(certificate: X509Certificate): Readonly<Record<string, unknown>> {
  try {
    return { ...certificate.publicKey.export({ format: "jwk" }) };
  } catch {
    return {};
  }
}

function isThumbprint(given: unknown, der: Uint8Array, hash: "sha1" | "sha256"): boolean {
  return typeof given !== "string" || given === createHash(hash).update(der).digest("base64url");
}

function signing({ document, keys }: Facts): Outcome {
  if (document === undefined || "fault" in document) return skipped("no set");
  const usable = keys.filter((key) => isForSignatures(key) && key.kty !== "oct" && key.fault === undefined);
  if (usable.length > 0) return fine(`${usable.length} of ${document.entries.length}`);
  return found(
    "must",
    "no key that verifies signatures",
    "Relying parties reject every token. Publish the signing key.",
  );
}
