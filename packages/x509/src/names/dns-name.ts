import { domainToASCII, domainToUnicode } from "node:url";

const LABEL = /^[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?$/;

/**
 * What is wrong with a domain name in a certificate, or undefined. It must be in the preferred syntax (RFC 5280 section 4.2.1.6,
 * RFC 1034 section 3.5), with A-labels for an internationalized name (RFC 5280 section 7.2).
 */
export function domainNameFault(name: string): string | undefined {
  if (!/^[\0-\x7f]*$/.test(name)) return `expected A-labels instead of characters outside ASCII${suggestion(name)}`;
  if (name.endsWith(".")) return "expected a domain name without a dot at its end";
  const labels = name.split(".");
  if (name.length > 253 || !labels.every((label) => LABEL.test(label))) {
    return "expected a domain name: labels of letters, digits and inner hyphens, at most 63 characters each and 253 in all";
  }
  if (/^\d+$/.test(labels.at(-1) ?? "")) return "expected a domain name, and an IP address as { ip }";
  if (!labels.every(isValidLabel)) return "expected valid A-labels (xn--…)";
  return undefined;
}

/** An A-label stands for a U-label, and is the only one for it. Versions of Node differ in what they answer for others. */
function isValidLabel(label: string): boolean {
  if (!/^xn--/i.test(label)) return true;
  const unicode = domainToUnicode(label);
  return unicode !== "" && !/^xn--/i.test(unicode) && domainToASCII(unicode) === label.toLowerCase();
}

function suggestion(name: string): string {
  const ascii = domainToASCII(name);
  return ascii === "" || domainNameFault(ascii) !== undefined ? "" : `: ${ascii}`;
}
