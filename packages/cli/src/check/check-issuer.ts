import type { Exchange, Recording } from "./exchange.ts";
import { readFacts } from "./facts.ts";
import { createProber } from "./probe/prober.ts";
import { record } from "./probe/record.ts";
import { askReplicas } from "./probe/replicas.ts";
import type { Replica } from "./probe/replicas.ts";
import type { Target } from "./probe/target.ts";
import type { CheckReport } from "./report.ts";
import { isBroken } from "./report.ts";
import { judge } from "./rules/all.ts";
import { noAnswer } from "./rules/transport.ts";
import { judgeReplicas } from "./rules/replicas.ts";
import type { ReplicaExchange } from "./rules/replicas.ts";

/** How a key set is asked for. */
export interface ProbeOptions {
  /** Whether the endpoint is also held to Signpost's own contract. */
  readonly isStrict: boolean;
  /** Whether plain HTTP is also used for hosts that are not this machine. */
  readonly isHttpAllowed: boolean;
  /** For each request, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the check. */
  readonly signal: AbortSignal;
}

/** More than any relying party reads. */
export const MAX_BYTES = 1_048_576;

/** Checks a key set against what the standards say, and the replicas that publish it against each other. */
export async function checkIssuer(
  target: Target,
  replicas: readonly Replica[],
  options: ProbeOptions,
): Promise<CheckReport> {
  const prober = createProber(target.url, { ...options, maxBytes: MAX_BYTES });
  const recording = await record(target, prober, options.isStrict);
  const asked = await askReplicas(replicas, recording.jwksUrl, prober);
  return reportOf(recording, asked, options.isStrict);
}

/** Judges what was recorded. Pure. */
export function reportOf(recording: Recording, replicas: readonly ReplicaExchange[], isStrict: boolean): CheckReport {
  const rows = [...judge(readFacts(recording, isStrict)), ...judgeReplicas(replicas)];
  const { target, jwksUrl } = recording;
  return { target, jwksUrl, unreachable: whyUnreachable(recording), isOk: !rows.some(isBroken), isStrict, rows };
}

/** Why no server answered. Undefined if one was there, be it that it did something wrong. */
function whyUnreachable({ discovery, probes }: Recording): string | undefined {
  const exchanges = [...discovery.map(({ exchange }) => exchange), ...Object.values(probes)];
  if (exchanges.some(isFromServer)) return undefined;
  const [first] = exchanges;
  return first === undefined ? "no request was made" : noAnswer(first);
}

function isFromServer(exchange: Exchange): boolean {
  return exchange.kind === "answer" || exchange.reason === "tls" || exchange.reason === "not-http";
}
