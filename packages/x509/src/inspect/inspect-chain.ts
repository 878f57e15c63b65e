import type { X509Certificate } from "node:crypto";
import { assertOptions, readMoment, type OptionNames } from "@signpost/core/adapter";
import { ConfigurationError } from "@signpost/core";
import type { CertificateInfo } from "./certificate-info.ts";
import { certificateFaults, issuingFaults, type ChainFault } from "./chain-faults.ts";
import { openX509 } from "./open-x509.ts";

/** What is wrong with a chain of certificates. */
export interface ChainProblem extends ChainFault {
  /** The index of the certificate in the chain, or -1 for the whole chain or its trust anchor. */
  readonly certificate: number;
}

/** A chain of certificates, from the leaf on. */
export interface InspectedChain {
  /** The leaf, its issuer, the issuer of that, and so on. */
  readonly chain: readonly CertificateInfo[];
  /** Certificates that are not part of the chain. */
  readonly unrelated: readonly CertificateInfo[];
  /** Whether the certificates were given in this order, without unrelated ones: `x5c` requires it. */
  readonly isInOrder: boolean;
  /** Whether the chain ends with a certificate that signs itself. HAIP wants it left out of `x5c`. */
  readonly endsWithRoot: boolean;
  /** Whether a trust anchor is in the chain or signed one of its certificates. Undefined if none was given. */
  readonly isTrusted: boolean | undefined;
  /** What is wrong, by certificate. Empty if nothing is. */
  readonly problems: readonly ChainProblem[];
}

/** Options of `inspectChain`. */
export interface InspectChainOptions {
  /** The time at which the certificates must be valid, as a Date or a date and time of RFC 3339. Default now. */
  readonly now?: Date | string | undefined;
  /** Certificates that you trust. Default none, which means that nothing is said about trust. */
  readonly trustAnchors?: readonly CertificateInfo[] | undefined;
}

const OPTIONS: OptionNames<InspectChainOptions> = { now: true, trustAnchors: true };

interface Link {
  readonly info: CertificateInfo;
  readonly x509: X509Certificate;
}

/**
 * Puts certificates into the order of a chain, leaf first, and says what is wrong with it: dates, signatures, who may issue, the
 * length of the path, critical extensions that were not evaluated. It makes no requests, so revocation, names and policies are
 * not checked. The leaf is the first certificate that issued none of the others.
 *
 * @throws ConfigurationError for an invalid argument.
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { inspectChain, readCertificates } from "@signpost/x509";
 *
 * const { chain, problems } = inspectChain(readCertificates(await readFile("chain.pem", "utf8")));
 * console.log(chain[0]?.subject, problems);
 * ```
 */
export function inspectChain(
  certificates: readonly CertificateInfo[],
  options: InspectChainOptions = {},
): InspectedChain {
  assertOptions("options", options, OPTIONS);
  const now = options.now === undefined ? Date.now() : readMoment("now", options.now);
  const links = linksOf("certificates", certificates);
  const anchors = options.trustAnchors === undefined ? undefined : linksOf("trustAnchors", options.trustAnchors);
  if (links.length === 0) throw new ConfigurationError("certificates", "expected a certificate, got none");
  const chain = chainOf(links);
  const unrelated = links.filter((link) => !chain.includes(link));
  const last = chain.at(-1);
  const endsWithRoot = last !== undefined && issued(last, last);
  const ofAnchor = anchors && anchorProblems(chain, anchors, now);
  return {
    chain: chain.map(({ info }) => info),
    unrelated: unrelated.map(({ info }) => info),
    isInOrder: chain.length === certificates.length && chain.every((link, index) => link === links[index]),
    endsWithRoot,
    isTrusted: ofAnchor && !ofAnchor.includes(UNTRUSTED),
    problems: [...chain.flatMap((_, index) => problemsOf(chain, index, now)), ...(ofAnchor ?? [])],
  };
}

const UNTRUSTED: ChainProblem = {
  certificate: -1,
  code: "untrusted",
  message: "no trust anchor is in the chain, and none signed one of its certificates",
};

function linksOf(argument: string, value: unknown): readonly Link[] {
  if (!Array.isArray(value)) throw new ConfigurationError(argument, "expected what readCertificates returned");
  const links = value.map((info: CertificateInfo, index): Link => {
    try {
      return { info, x509: openX509(info.der) };
    } catch (cause) {
      throw new ConfigurationError(`${argument}[${index}]`, "expected what readCertificates returned", { cause });
    }
  });
  // A certificate that is there twice is one certificate.
  return links.filter((link, index) => links.findIndex((each) => same(each, link)) === index);
}

function same(a: Link, b: Link): boolean {
  return a.info.x5tS256 === b.info.x5tS256;
}

/** By name and signature only: an issuer that must not issue is part of the chain, and one of its problems. */
function issued(issuer: Link, subject: Link): boolean {
  return issuer.info.subject === subject.info.issuer && isSignedBy(subject.x509, issuer.x509);
}

function isSignedBy(subject: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return subject.verify(issuer.publicKey);
  } catch {
    // A key that does not fit the algorithm of the signature.
    return false;
  }
}

function chainOf(links: readonly Link[]): readonly Link[] {
  const isIssuer = (link: Link): boolean => links.some((each) => each !== link && issued(link, each));
  const leaf = links.find((link) => !isIssuer(link)) ?? links[0];
  const chain: Link[] = [];
  for (let next = leaf; next !== undefined; next = issuerOf(next, links, chain)) chain.push(next);
  return chain;
}

/**
 * Of several, the one that is valid longest: an authority may have been certified again. A root ends the chain. So it comes after
 * a certificate that another authority made for its key, and a former certificate of the root is not its issuer.
 */
function issuerOf(link: Link, links: readonly Link[], chain: readonly Link[]): Link | undefined {
  if (issued(link, link)) return undefined;
  return links
    .filter((each) => !chain.includes(each) && issued(each, link))
    .toSorted(
      (a, b) => Number(issued(a, a)) - Number(issued(b, b)) || b.info.notAfter.getTime() - a.info.notAfter.getTime(),
    )[0];
}

function problemsOf(chain: readonly Link[], index: number, now: number): readonly ChainProblem[] {
  return chain.slice(index, index + 1).flatMap((link) => {
    const { info } = link;
    const faults = [
      ...certificateFaults(info, index > 0 && issued(link, link), now),
      ...(index === 0 ? [] : issuingFaults(info, authorities(chain.slice(1, index)))),
    ];
    return faults.map((fault) => ({ certificate: index, ...fault }));
  });
}

/** How many authorities there are that were not issued under their own name (RFC 5280 section 4.2.1.9). */
function authorities(links: readonly Link[]): number {
  return links.filter(({ info }) => info.subject !== info.issuer).length;
}

/** The problems of the best trust anchor. None for one that is in the chain, since they are there already. */
function anchorProblems(chain: readonly Link[], anchors: readonly Link[], now: number): readonly ChainProblem[] {
  if (chain.some((link) => anchors.some((anchor) => same(link, anchor)))) return [];
  const faults = chain.flatMap((link, index) =>
    anchors
      .filter((anchor) => issued(anchor, link))
      .map(({ info }) => [
        ...certificateFaults(info, true, now),
        ...issuingFaults(info, authorities(chain.slice(1, index + 1))),
      ]),
  );
  const [best] = faults.toSorted((a, b) => a.length - b.length);
  if (best === undefined) return [UNTRUSTED];
  return best.map(({ code, message }) => ({ certificate: -1, code, message: `the trust anchor: ${message}` }));
}
