import type { CertificateInfo, InspectedChain } from "../../keys/x509-package.ts";
import type { Level } from "../../terminal/levels.ts";
import { duration } from "../../terminal/duration.ts";
import type { FoundCertificates } from "./source.ts";

/** What was found out about a chain. */
export interface ChainFinding {
  readonly check: "order" | "validity" | "path" | "trust" | "key" | "usage";
  readonly level: Level;
  readonly text: string;
}

/** A key of the configuration. */
export interface ConfigKey {
  readonly keyId: string;
  readonly thumbprint: string;
}

/** What a chain is compared with. */
export interface Compared {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly withinDays: number;
  /** Undefined if no configuration was named. */
  readonly keys: readonly ConfigKey[] | undefined;
}

const DAY_SECONDS = 86_400;

/** What a person should know about a chain. */
export function findingsOf(
  inspected: InspectedChain,
  { jwk }: FoundCertificates,
  compared: Compared,
): readonly ChainFinding[] {
  const [leaf] = inspected.chain;
  if (leaf === undefined) return [];
  return [
    ...orderFindings(inspected),
    ...validityFindings(inspected, compared),
    ...pathFindings(inspected),
    ...trustFindings(inspected),
    ...keyFindings(leaf, jwk, compared.keys),
    ...usageFindings(leaf),
  ];
}

function orderFindings({ chain, unrelated, isInOrder, endsWithRoot }: InspectedChain): readonly ChainFinding[] {
  const findings: ChainFinding[] = [];
  const add = (level: Level, text: string): void => void findings.push({ check: "order", level, text });
  const count = `${chain.length} ${chain.length === 1 ? "certificate" : "certificates"}`;
  if (isInOrder) add("ok", `leaf first, ${count}`);
  else if (unrelated.length === 0)
    add("warning", `not leaf first, as x5c requires: ${count}, shown in the right order`);
  else add("warning", `${unrelated.length} of the certificates are not part of the chain of the leaf`);
  if (endsWithRoot && chain.length > 1) add("note", "ends with its root, which HAIP wants left out of x5c");
  return findings;
}

function validityFindings({ chain, problems }: InspectedChain, { now, withinDays }: Compared): readonly ChainFinding[] {
  const bad = problems
    .filter(({ code }) => code === "expired" || code === "not_yet_valid")
    .map(({ certificate, message }): ChainFinding => ({
      check: "validity",
      level: "problem",
      text: textOf(certificate, message),
    }));
  if (bad.length > 0) return bad;
  const index = chain.reduce(
    (first, { notAfter }, each) => (notAfter < (chain[first]?.notAfter ?? notAfter) ? each : first),
    0,
  );
  const end = chain[index]?.notAfter ?? new Date(now);
  const leftSeconds = (end.getTime() - now) / 1000;
  const text = `${placeOf(index)} is the first to expire, in ${duration(leftSeconds)}`;
  return [{ check: "validity", level: leftSeconds < withinDays * DAY_SECONDS ? "warning" : "ok", text }];
}

function pathFindings({ chain, problems }: InspectedChain): readonly ChainFinding[] {
  const others = problems.filter(({ code }) => !["expired", "not_yet_valid", "untrusted"].includes(code));
  if (others.length > 0) {
    return others.map(({ certificate, message }) => ({
      check: "path",
      level: "problem",
      text: textOf(certificate, message),
    }));
  }
  if (chain.length === 1) return [];
  return [{ check: "path", level: "ok", text: "each certificate is signed by the next one, which may issue" }];
}

function trustFindings({ isTrusted }: InspectedChain): readonly ChainFinding[] {
  if (isTrusted === undefined) return [];
  return [
    isTrusted
      ? { check: "trust", level: "ok", text: "leads to a certificate that you trust" }
      : { check: "trust", level: "problem", text: "leads to no certificate that you trust" },
  ];
}

function keyFindings(
  { keyType, thumbprint }: CertificateInfo,
  jwk: FoundCertificates["jwk"],
  keys: Compared["keys"],
): readonly ChainFinding[] {
  const findings: ChainFinding[] = [];
  const add = (level: Level, text: string): void => void findings.push({ check: "key", level, text });
  if (keyType !== "EC P-256") add("warning", `the leaf's key is ${keyType}, and Signpost signs with EC P-256 only`);
  if (jwk !== undefined) {
    if (jwk.thumbprint === thumbprint && thumbprint !== undefined) add("ok", "the leaf has the key of its JWK");
    else add("problem", "the leaf has another key than its JWK");
  }
  if (keys === undefined) return findings;
  const same = keys.find((key) => key.thumbprint === thumbprint);
  if (same !== undefined) add("ok", `the leaf has the key ${same.keyId} of the configuration`);
  else add("problem", "the leaf has no key of the configuration");
  return findings;
}

/** A key with either of them may sign tokens. */
const SIGNATURES = ["digitalSignature", "contentCommitment"];

function usageFindings({ keyUsage, basicConstraints }: CertificateInfo): readonly ChainFinding[] {
  const findings: ChainFinding[] = [];
  const add = (level: Level, text: string): void => void findings.push({ check: "usage", level, text });
  if (keyUsage !== undefined && !SIGNATURES.some((usage) => keyUsage.includes(usage))) {
    add("problem", "the key usage of the leaf does not allow signatures: digitalSignature is missing");
  }
  if (basicConstraints?.ca === true) add("warning", "the leaf is the certificate of an authority");
  return findings;
}

/** What is wrong with a trust anchor says so itself. */
function textOf(index: number, message: string): string {
  return index < 0 ? message : `${placeOf(index)}: ${message}`;
}

function placeOf(index: number): string {
  return index === 0 ? "the leaf" : `certificate ${index + 1}`;
}
