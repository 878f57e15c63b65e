import { ConfigurationError } from "@signpost/core";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import type { CommonFlags } from "../program/runnable.ts";
import { checkIssuer } from "./check-issuer.ts";
import type { ProbeOptions } from "./check-issuer.ts";
import { excerpt } from "./excerpt.ts";
import { readReplicas } from "./probe/replicas.ts";
import { readTarget } from "./probe/target.ts";
import type { Target } from "./probe/target.ts";
import { renderReport } from "./render.ts";
import { eventToJson, renderEvent } from "./watch/render.ts";
import type { WatchEvent } from "./watch/state.ts";
import { watch } from "./watch/watch.ts";

/** The flags of `signpost check`. */
export interface CheckFlags extends CommonFlags {
  readonly strict?: boolean;
  readonly jwks?: boolean;
  readonly findings?: boolean;
  readonly replicas?: string;
  readonly watch?: boolean;
  readonly until?: string;
  readonly interval?: number;
  readonly timeout?: number;
  readonly allowHttp?: boolean;
}

export async function runCheck(context: CliContext, flags: CheckFlags, url: string): Promise<ExitCode> {
  const target = readTarget(url, flags.jwks === true);
  const options: ProbeOptions = {
    isStrict: flags.strict === true,
    isHttpAllowed: flags.allowHttp === true,
    timeoutMs: milliseconds("timeout", flags.timeout ?? 10, 60),
    signal: context.signal,
  };
  if (flags.watch === true) return runWatch(context, flags, target, options);
  for (const name of ["until", "interval"] as const) {
    if (flags[name] !== undefined) throw new ConfigurationError(name, "needs --watch");
  }
  const replicas = flags.replicas === undefined ? [] : readReplicas(flags.replicas);
  const report = await context.during(`asking ${new URL(target.url).host}`, () =>
    checkIssuer(target, replicas, options),
  );
  if (report.unreachable !== undefined) throw unreachable(target, report.unreachable);
  if (flags.json === true) context.output.json(report);
  else context.output.line(renderReport(report, context.output, flags.findings === true));
  return report.isOk ? EXIT.ok : EXIT.finding;
}

async function runWatch(
  { output, signal }: CliContext,
  flags: CheckFlags,
  target: Target,
  options: ProbeOptions,
): Promise<ExitCode> {
  if (flags.replicas !== undefined) throw new ConfigurationError("replicas", "cannot be used with --watch");
  const intervalMs = milliseconds("interval", flags.interval ?? 30, 3600);
  const { until } = flags;
  let isOk = true;
  let isStarted = false;
  for await (const { events } of watch(target, { ...options, intervalMs })) {
    for (const event of events) {
      if (!isStarted && event.event === "away") throw unreachable(target, event.why);
      if (flags.json === true) output.line(eventToJson(event));
      else output.line(renderEvent(event, output.colors));
      requireAnnouncement(event, until);
      isStarted = true;
      if (event.event === "fault") isOk = false;
      if (event.event === "may-sign" && event.behindSharedCache && event.key === until)
        return isOk ? EXIT.ok : EXIT.finding;
    }
  }
  signal.throwIfAborted();
  return EXIT.backend;
}

function unreachable({ url }: Target, why: string): CliError {
  return new CliError(EXIT.backend, "unreachable", `${excerpt(url)}: ${why}`);
}

/** A key whose announcement was not seen: nothing is known about what caches were told before. */
function requireAnnouncement(event: WatchEvent, until: string | undefined): void {
  if (until === undefined) return;
  if (event.event === "watching" && event.keys.includes(until)) {
    const hint = "Start the watch before the key is announced: only then it knows what caches were told.";
    throw new CliError(EXIT.usage, "announced_before", `${excerpt(until)} was published before the watch began`, {
      hint,
    });
  }
  if (event.event === "announced" && event.key === until && event.shared === undefined) {
    throw new CliError(
      EXIT.finding,
      "no_lifetime",
      `It is not known when ${excerpt(until)} may sign: the key set states no lifetime`,
    );
  }
}

function milliseconds(name: string, seconds: number, most: number): number {
  if (seconds >= 0.1 && seconds <= most) return seconds * 1000;
  throw new ConfigurationError(name, `expected seconds from 0.1 to ${most}, got ${seconds}`);
}
