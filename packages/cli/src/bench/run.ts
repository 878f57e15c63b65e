import { once } from "node:events";
import { ownConnection } from "../backends/own-connection.ts";
import { resolvedAdapters } from "../config/config-keys.ts";
import { loadConfig } from "../config/load-config.ts";
import { probeOnce } from "../doctor/probe.ts";
import { keyUriScheme, type AdapterOptions } from "../keys/adapters.ts";
import { keyOpener } from "../keys/open-key.ts";
import { pinAsker, pinReader } from "../keys/secrets.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { failureOf } from "../program/failure.ts";
import { askConsent, canAsk } from "../program/prompts.ts";
import { printable } from "../terminal/printable.ts";
import type { BenchFlags } from "./command.ts";
import { countAttempts, guardedSide, type AttemptCount } from "./guarded.ts";
import { measureLevel, type Level } from "./measure.ts";
import { planBench, type Plan } from "./plan.ts";
import { rawOf } from "./raw/open.ts";
import { printReport } from "./render.ts";
import { asJson, type Report } from "./report.ts";
import type { Side } from "./side.ts";
import { benchSvg } from "./svg.ts";
import { openSvgFile } from "./svg-file.ts";
import { whole } from "./units.ts";

/** Calls at once that the guard lets through by default. */
const GUARD_CONCURRENCY = 16;

export async function runBench(context: CliContext, flags: BenchFlags, uri: string): Promise<ExitCode> {
  const scheme = keyUriScheme(uri);
  const plan = planBench(scheme, flags);
  const svg = flags.svg === undefined ? undefined : await openSvgFile(flags.svg, context.cwd);
  const adapters =
    flags.config === undefined ? {} : await resolvedAdapters(await loadConfig(context, flags.config), context);
  const own = flags.raw === true ? ownConnection(adapters[scheme] ?? {}) : undefined;
  if (own !== undefined) {
    throw new CliError(EXIT.usage, "no_raw", `--raw cannot use the option ${own} of the adapter`, {
      hint: "Leave --raw out",
    });
  }
  await requireConsent(context, plan, flags.yes === true);

  const sides = await openSides(context, { uri, scheme, plan, adapters, raw: flags.raw === true });
  const attempts = countAttempts();
  try {
    const levels = await measure(context, plan, sides.list, attempts);
    const report: Report = {
      uri: sides.keyUri,
      plan,
      names: sides.list.map(({ name }) => name),
      levels,
      wasStopped: context.signal.aborted,
    };
    // Before the figures are printed, which must not be lost if this fails.
    const failed = await svg?.write(benchSvg(report)).then(
      () => undefined,
      (error: unknown) => failureOf(error),
    );
    if (flags.json === true) context.output.json(asJson(report, failed));
    else printReport(report, context.output);
    if (failed === undefined) return exitCodeOf(levels);
    context.messages.line(`${context.messages.colors.red("error")} ${printable(failed.message)}`);
    return failed.exitCode;
  } finally {
    attempts.stop();
    // In the other order than they were opened.
    for (const side of sides.list.toReversed()) await side.close();
  }
}

/** Asks before anything is billed. */
async function requireConsent(context: CliContext, { biller, billedAtMost }: Plan, yes: boolean): Promise<void> {
  if (biller === undefined) return;
  const text = `${biller} bills up to ${whole(billedAtMost)} calls`;
  if (yes) return context.messages.line(text);
  if (!canAsk(context)) {
    throw new CliError(EXIT.usage, "confirmation", `${text}, and there is no terminal to ask whether you want that`, {
      hint: "Add --yes, or make fewer calls with --calls",
    });
  }
  if (await askConsent(context, `${text}. Make them?`)) return;
  throw new CliError(EXIT.usage, "cancelled", "Nothing was signed, as you asked");
}

interface SidesOrder {
  readonly uri: string;
  readonly scheme: string;
  readonly plan: Plan;
  readonly adapters: Readonly<Record<string, AdapterOptions>>;
  readonly raw: boolean;
}

interface OpenSides {
  readonly keyUri: string;
  readonly list: readonly Side[];
}

async function openSides(context: CliContext, { uri, scheme, plan, adapters, raw }: SidesOrder): Promise<OpenSides> {
  const ask = pinAsker(context);
  const concurrency = Math.max(...plan.levels);
  // The sessions of a token are its own limit. Elsewhere the guard must not be the limit that is measured.
  const policy = scheme === "pkcs11" || concurrency <= GUARD_CONCURRENCY ? undefined : { concurrency };
  // As a program has it by default, and in one process with the bare call.
  const measured = { ...adapters, pkcs11: { isolation: "thread", ...adapters["pkcs11"] } };
  const key = await keyOpener(context, measured, ask, policy)(uri);
  try {
    // What fails here would fail each time.
    await context.during("Signing a probe", () => probeOnce(key, context.signal));
    const signpost = guardedSide(key, context.signal);
    if (!raw) return { keyUri: key.uri, list: [signpost] };
    const options = adapters[scheme] ?? {};
    const pin = (): Promise<string | undefined> => pinReader(uri, options, context, ask);
    const order = { uri, keyUri: key.uri, options, context, concurrency, pin };
    const bare = await context.during("Opening the bare call", () => rawOf(scheme)(order));
    return { keyUri: key.uri, list: [signpost, bare] };
  } catch (error) {
    await key.close();
    throw error;
  }
}

const PROGRESS_MS = 200;

async function measure(
  context: CliContext,
  { levels, limits }: Plan,
  sides: readonly Side[],
  count: AttemptCount,
): Promise<readonly Level[]> {
  const { signal } = context;
  const ended = signal.aborted ? Promise.resolve() : once(signal, "abort").then(() => undefined);
  const measured: Level[] = [];
  for (const concurrency of levels) {
    if (signal.aborted) break;
    let calls = 0;
    const options = { concurrency, ...limits, signal, ended, onCall: () => (calls += 1), repeats: () => count.repeats };
    const level = await context.during("Signing", async (update) => {
      const show = (): void => {
        if (calls > 0) update(`Signing, ${concurrency} at once: ${whole(calls)} calls`);
      };
      const timer = setInterval(show, PROGRESS_MS);
      try {
        return await measureLevel(sides, options);
      } finally {
        clearInterval(timer);
      }
    });
    measured.push(level);
    if (level.gaveUp) break;
  }
  return measured;
}

function exitCodeOf(levels: readonly Level[]): ExitCode {
  const tallies = levels.flatMap((level) => level.tallies);
  if (tallies.every(({ signatures }) => signatures === 0)) return EXIT.backend;
  return tallies.some(({ failures }) => failures > 0) ? EXIT.finding : EXIT.ok;
}
