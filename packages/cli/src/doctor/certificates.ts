import { ConfigurationError, type CertificateValidity, type EntryCertificates } from "@signpost/core";
import { certificateFault, type CertifiedKey, firstToExpire, readCertificates } from "@signpost/core/adapter";
import type { PublishedSpan } from "../config/published-spans.ts";
import { printable } from "../terminal/printable.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

const DAY_MS = 86_400_000;
/** As the endpoint tells it by default. */
const NOTICE_DAYS = 30;

const FOR_GOOD: PublishedSpan = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

/** Checks the certificates that the configuration gives a key, and how long they are valid. */
export function certificateFinding(
  certificates: EntryCertificates | undefined,
  key: CertifiedKey,
  span: PublishedSpan = FOR_GOOD,
  now: number = Date.now(),
): readonly Finding[] {
  if (certificates === undefined) return [];
  try {
    const read = readCertificates("certificates", certificates, key);
    // The OP starts with the chain of a key that it no longer publishes, and of one that it publishes later.
    if (span.until <= now) return [note("certificates", "the key is no longer published, so its chain may expire")];
    const fault = certificateFault(read, Math.max(now, span.from));
    if (fault !== undefined) return [problem("certificates", fault, "Renew it: the OP does not start with this chain")];
    return [validFinding(firstToExpire(read), read.x5c.length, span, now)];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [problem("certificates", printable(error.message), "Correct the chain: the OP does not start with it")];
  }
}

function validFinding(first: CertificateValidity, count: number, span: PublishedSpan, now: number): Finding {
  const soon = expiresSoon(first, span, now);
  return soon === undefined
    ? ok("certificates", `${count} to show, ${validUntil(first, now)}`)
    : warning("certificates", soon.text, soon.todo);
}

/** What to say of a certificate that ends soon, while its key is published. */
export function expiresSoon(
  certificate: CertificateValidity,
  span: PublishedSpan = FOR_GOOD,
  now: number,
): { readonly text: string; readonly todo: string } | undefined {
  const { name, notAfter } = certificate;
  if (notAfter - now >= NOTICE_DAYS * DAY_MS || notAfter >= span.until) return undefined;
  return {
    text: `${name} is ${validUntil(certificate, now)}`,
    todo: "Renew it, and deploy the new chain in the certificates of the entry",
  };
}

function validUntil({ notAfter }: CertificateValidity, now: number): string {
  const days = Math.floor((notAfter - now) / DAY_MS);
  return `valid until ${new Date(notAfter).toISOString()} (${days} ${days === 1 ? "day" : "days"})`;
}
