import { firstToExpire } from "../certificate/validity.ts";
import { ConfigurationError } from "../errors.ts";
import type { KeySet, PublishedKey } from "../keyset/types.ts";
import { createFailureReport } from "./failure-report.ts";

export interface CertificateReportOptions {
  /** How long before the end it is told. */
  readonly noticeMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onError: ((error: unknown) => void) | undefined;
}

/** One chain of a key, and what was told about its end. */
interface WatchedChain {
  /** Equal for the same chain of the same key in another set. */
  readonly name: string;
  readonly keyId: string;
  readonly certificate: string;
  readonly notAfter: number;
  told: "nothing" | "near" | "expired";
}

/**
 * Returns a function that looks at the published set of a request. It tells `onError` once when a chain expires soon, and once
 * more when it has expired. A new chain of the same key is told about again. It reads the clock only if a key has certificates.
 */
export function createCertificateReport({ noticeMs, now, onError }: CertificateReportOptions): (set: KeySet) => void {
  let seen: KeySet | undefined;
  let chains: readonly WatchedChain[] = [];
  const tell = (chain: WatchedChain, time: number): void => {
    const state = time > chain.notAfter ? "expired" : time >= chain.notAfter - noticeMs ? "near" : "nothing";
    // A clock that went back tells nothing again.
    if (state === "nothing" || state === chain.told || chain.told === "expired") return;
    chain.told = state;
    createFailureReport(onError).failed(expiryError(chain, state));
  };
  return (set) => {
    if (onError === undefined) return;
    if (set !== seen) {
      chains = set.keys.flatMap((key) => watched(key, chains));
      seen = set;
    }
    if (chains.length === 0) return;
    const time = timeOf(now);
    for (const chain of chains) tell(chain, time);
  };
}

function watched(key: PublishedKey, before: readonly WatchedChain[]): readonly WatchedChain[] {
  if (key.certificates === undefined) return [];
  const { keyId } = key;
  const { name: certificate, notAfter } = firstToExpire(key.certificates);
  const name = JSON.stringify([keyId, key.certificates["x5t#S256"], notAfter]);
  return [before.find((chain) => chain.name === name) ?? { name, keyId, certificate, notAfter, told: "nothing" }];
}

function expiryError({ keyId, certificate, notAfter }: WatchedChain, state: "near" | "expired"): ConfigurationError {
  const when = `${state === "near" ? "expires" : "expired"} at ${new Date(notAfter).toISOString()}`;
  const advice = "renew it, and deploy the new chain in the certificates of its entry";
  return new ConfigurationError("keys", `kid ${JSON.stringify(keyId)}: ${certificate} ${when}; ${advice}`, {
    code: state === "near" ? "certificate_expires_soon" : "certificate_expired",
  });
}

/** NaN if the clock fails: nothing is told, and the request gets its answer. */
function timeOf(now: () => number): number {
  try {
    return now();
  } catch {
    return Number.NaN;
  }
}
