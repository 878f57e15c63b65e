import { ConfigurationError, type EntryCertificates } from "@signpost/core";
import { certificateFault, type CertifiedKey, firstToExpire, readCertificates } from "@signpost/core/adapter";
import { printable } from "../terminal/printable.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";

const DAY_MS = 86_400_000;
/** As the endpoint tells it by default. */
const NOTICE_DAYS = 30;

/** Checks the certificates that the configuration gives a key, and how long they are valid. */
export function certificateFinding(
  certificates: EntryCertificates | undefined,
  key: CertifiedKey,
  now: number = Date.now(),
): readonly Finding[] {
  if (certificates === undefined) return [];
  try {
    const read = readCertificates("certificates", certificates, key);
    const fault = certificateFault(read, now);
    if (fault !== undefined) return [problem("certificates", fault, "Renew it: the OP does not start with this chain")];
    return [validFinding(firstToExpire(read), read.x5c.length, now)];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [problem("certificates", printable(error.message), "Correct the chain: the OP does not start with it")];
  }
}

function validFinding(
  { name, notAfter }: { readonly name: string; readonly notAfter: number },
  count: number,
  now: number,
): Finding {
  const days = Math.floor((notAfter - now) / DAY_MS);
  const until = `valid until ${new Date(notAfter).toISOString()} (${days} ${days === 1 ? "day" : "days"})`;
  if (days >= NOTICE_DAYS) return ok("certificates", `${count} to show, ${until}`);
  return warning(
    "certificates",
    `${name} is ${until}`,
    "Renew it, and deploy the new chain in the certificates of the entry",
  );
}
