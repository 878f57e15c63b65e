import { basename } from "node:path";
import { loadConfigFile } from "../../config/load-config.ts";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import { failureOf } from "../../program/failure.ts";
import type { CliContext } from "../../program/context.ts";
import { canAsk } from "../../program/prompts.ts";
import type { Log } from "../log.ts";
import type { Counters } from "../metrics/counters.ts";
import { createKeyBook } from "./key-book.ts";
import { retryPauseMs } from "./retry-pause.ts";
import { createReloader, type Outcome, type Reloader } from "./reloader.ts";
import { createLive, requireServable, type EndpointSettings, type Live } from "./serving.ts";

export interface LoadingOptions extends Pick<EndpointSettings, "cors" | "weakIfNoneMatch"> {
  readonly path: string;
  readonly log: Log;
  readonly counters: Counters;
}

/** How a configuration comes into service, at the start and later. */
export interface Loading {
  readonly live: Live;
  readonly reloader: Reloader;
  /** Resolves when a set is served. Rejects with what keeps the server from that, and will not pass by itself. */
  readonly started: Promise<void>;
}

/** Each wrong try of a PIN brings its lock nearer. What starts a server that ended again and again would lock the token. */
const PIN_CODES = new Set(["pin_incorrect", "pin_locked"]);

/** What the endpoint tells of certificates that it goes on publishing. */
const CERTIFICATE_LEVELS: Readonly<Record<string, "warn" | "error">> = {
  certificate_expires_soon: "warn",
  certificate_expired: "error",
};

/** For the file alone, not for its keys, whose backends have limits. */
const LOAD_MS = 30_000;

export function createLoading(context: CliContext, options: LoadingOptions): Loading {
  const { path, log, counters, cors, weakIfNoneMatch } = options;
  const { promise: started, resolve: onStarted, reject: onHopeless } = withResolvers();
  const onKept = (place: string, error: unknown): void => {
    const { code, message } = failureOf(error);
    counters.keyFailures.add({ code });
    log("warn", "key_kept", `${place}: ${sentence(message)} The key that was read before stays published`, { code });
  };
  const onError = (error: unknown): void => {
    const { code, message } = failureOf(error);
    const level = CERTIFICATE_LEVELS[code];
    if (level !== undefined) return log(level, code, sentence(message), { code });
    log("error", "keys_refused", `${sentence(message)} The set before stays published`, { code });
  };
  const live = createLive(createKeyBook(context, onKept), { cors, weakIfNoneMatch, onError });
  let version = 0;

  const load = async (again: boolean): Promise<void> => {
    version += 1;
    const loaded = await inTime(loadConfigFile(path, context.cwd, version), basename(path));
    await requireServable(loaded);
    await live.adopt(loaded, again);
  };
  const onOutcome = (outcome: Outcome, error: unknown): void => {
    counters.loads.add({ result: error === undefined ? "success" : "failure" });
    if (outcome.failure === undefined) {
      log("info", "loaded", `loaded the configuration (${outcome.reason})`, { reason: outcome.reason });
      return onStarted();
    }
    const isServing = live.serving() !== undefined;
    const isFirst = !isServing && (outcome.reason === "start" || outcome.reason === "retry");
    const { code } = outcome.failure;
    if (isFirst && outcome.retryMs === undefined && !PIN_CODES.has(code)) return onHopeless(error);
    if (!isConfigurationCode(outcome)) counters.keyFailures.add({ code });
    logFailure(log, outcome, isServing);
  };
  // A person who typed a PIN decides when to type another one.
  const retryAfterMs = canAsk(context) ? retryUnlessAsked : retryPauseMs;
  const reloader = createReloader({ load, onOutcome, retryAfterMs, signal: context.signal });
  return { live, reloader, started };
}

/** A module can wait forever, and no later load would begin before its end. */
async function inTime<T>(loading: Promise<T>, name: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const problem = `${name}: it has not finished within ${LOAD_MS / 1000} s`;
    timer = setTimeout(() => reject(new CliError(EXIT.usage, "config_timeout", problem)), LOAD_MS);
  });
  return Promise.race([loading, late]).finally(() => clearTimeout(timer));
}

function retryUnlessAsked(error: unknown, failures: number): number | undefined {
  return PIN_CODES.has(failureOf(error).code) ? undefined : retryPauseMs(error, failures);
}

function logFailure(log: Log, { failure, retryMs, reason }: Outcome, isServing: boolean): void {
  if (failure === undefined) return;
  const { code, message, hint } = failure;
  const kept = isServing ? "Serves what it had" : "Serves nothing yet";
  const next = retryMs === undefined ? "after SIGHUP or a change of the file" : `in ${(retryMs / 1000).toFixed(1)} s`;
  const level = retryMs === undefined || PIN_CODES.has(code) ? "error" : "warn";
  log(level, "load_failed", `${sentence(message)} ${kept}, and tries again ${next}`, { code, hint, reason });
}

function sentence(message: string): string {
  return /[.?!]$/.test(message) ? message : `${message}.`;
}

/** Mistakes in the file are no failures of a key. */
function isConfigurationCode({ failure }: Outcome): boolean {
  return failure?.exitCode === 2;
}

function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve = (): void => undefined;
  let reject = (_error: unknown): void => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // It may reject while nothing waits for it yet.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
