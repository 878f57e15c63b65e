import type { CertificateInfo } from "../../keys/x509-package.ts";
import { MARKS } from "../../terminal/levels.ts";
import type { Output } from "../../terminal/output.ts";
import { printable } from "../../terminal/printable.ts";
import { tableText } from "../../terminal/table.ts";
import type { ChainFinding } from "./findings.ts";

/** A chain, and what was found out about it. */
export interface ChainReport {
  /** The kid of the JWK that has the chain. */
  readonly kid: string | undefined;
  readonly chain: readonly CertificateInfo[];
  readonly findings: readonly ChainFinding[];
}

/** Prints a chain for people. */
export function printChain({ kid, chain, findings }: ChainReport, output: Output): void {
  const { colors } = output;
  if (kid !== undefined) output.line(`${colors.bold(`x5c of ${printable(kid)}`)}\n`);
  for (const [index, certificate] of chain.entries()) {
    const place = index === 0 ? "leaf" : `certificate ${index + 1}`;
    const rows = rowsOf(certificate).map(([name, value]) => [`  ${colors.dim(name)}`, printable(value)]);
    output.line(`${colors.bold(printable(titleOf(certificate)))}  ${colors.dim(place)}`);
    output.line(tableText(rows, output));
    output.line();
  }
  const rows = findings.map(({ check, level, text }) => [`  ${MARKS[level](colors)}`, check, printable(text)]);
  output.line(tableText(rows, output));
}

function titleOf({ subject, subjectAltNames }: CertificateInfo): string {
  const [name] = subjectAltNames;
  return subject !== "" || name === undefined ? subject : nameText(name);
}

function rowsOf(info: CertificateInfo): readonly (readonly [string, string])[] {
  const { issuer, serialNumber, notBefore, notAfter, subjectAltNames, keyType, thumbprint, x5tS256 } = info;
  const rows: (readonly [string, string | undefined])[] = [
    ["issuer", issuer],
    ["serial", serialNumber],
    ["valid", `${timeText(notBefore)} to ${timeText(notAfter)}`],
    ["names", subjectAltNames.length === 0 ? undefined : subjectAltNames.map(nameText).join(", ")],
    ["usage", usageText(info)],
    ["key", thumbprint === undefined ? keyType : `${keyType}, kid ${thumbprint}`],
    ["x5t#S256", x5tS256],
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

function usageText({ keyUsage, extendedKeyUsage, basicConstraints }: CertificateInfo): string | undefined {
  const { ca = false, pathLength } = basicConstraints ?? {};
  const authority = ca ? [`authority${pathLength === undefined ? "" : `, path length ${pathLength}`}`] : [];
  const parts = [...authority, keyUsage?.join(", "), extendedKeyUsage?.join(", ")].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("; ");
}

function nameText(name: CertificateInfo["subjectAltNames"][number]): string {
  return Object.entries(name)
    .map(([kind, text]) => (kind === "other" ? text : `${kind} ${text}`))
    .join(" ");
}

function timeText(time: Date): string {
  return time
    .toISOString()
    .replace("T", " ")
    .replace(/:\d\d\.\d+Z$/, " UTC");
}
