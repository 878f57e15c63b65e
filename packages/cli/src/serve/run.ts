import { basename } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findConfig } from "../config/find-config.ts";
import { loadConfigFile } from "../config/load-config.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { programVersion } from "../program/version.ts";
import type { ServeFlags } from "./command.ts";
import { answerAdmin } from "./http/admin-port.ts";
import { listen, type Listener } from "./http/listener.ts";
import { answerPublic, DISCOVERY } from "./http/public-port.ts";
import { createLoading } from "./live/loading.ts";
import { requireServable } from "./live/serving.ts";
import { watchFile } from "./live/watch-file.ts";
import { watchKeySet } from "./live/watch-key-set.ts";
import { createLog, type Log } from "./log.ts";
import { createCounters, type PortName } from "./metrics/counters.ts";
import { readSettings, type ServeSettings } from "./settings.ts";
import { isReady, type ServerState } from "./state.ts";

type Ports = Readonly<Record<PortName, Listener>>;

/** Scrapers, probes and a few people. */
const ADMIN_CONNECTIONS = 200;
/** What is left to do when the requests are done. */
const END_MS = 2000;

export async function runServe(context: CliContext, flags: ServeFlags): Promise<ExitCode> {
  const settings = readSettings(flags);
  const log = createLog(context.messages, flags.json === true);
  const path = await findConfig(context.cwd, flags.config);
  // Before a port is taken or a key is opened: a mistake in the file ends the command.
  const pathname = await requireServable(await loadConfigFile(path, context.cwd, 0));
  const ending = new AbortController();
  const signal = AbortSignal.any([context.signal, ending.signal]);
  // Not a copy: the context may have members of its prototype.
  const inner = Object.create(context, { signal: { value: signal, enumerable: true } }) as CliContext;
  const counters = createCounters();
  const { cors, weakIfNoneMatch } = settings;
  const { live, reloader, started } = createLoading(inner, { path, log, counters, cors, weakIfNoneMatch });
  const state: ServerState = {
    version: programVersion(),
    configName: basename(path),
    startedAt: new Date(),
    live,
    reloader,
    counters,
    pathname,
    isStopping: false,
    listeners: {},
  };
  context.allowClosing(settings.shutdownDelayMs + settings.shutdownTimeoutMs + END_MS);
  // From the beginning, since it would end a program that does not listen.
  process.on("SIGHUP", () => reloader.request("signal"));
  const ports = await openPorts(state, settings, log);
  try {
    printAddresses(context, ports, pathname, flags.json === true);
    await watchFile(path, { signal, onChange: () => reloader.request("change") });
    reloader.request("start");
    await Promise.race([started, aborted(signal)]);
    if (!signal.aborted) watchKeySet(live, log, signal);
    await aborted(signal);
    await shutDown(state, ports, settings, log);
    return EXIT.ok;
  } finally {
    ending.abort();
    await Promise.all(Object.values(ports).map((port) => port.close(0)));
  }
}

async function openPorts(state: ServerState, settings: ServeSettings, log: Log): Promise<Ports> {
  const { counters } = state;
  const open = (port: PortName): Promise<Listener> =>
    listen({
      place: port === "public" ? settings.key : settings.admin,
      maxConnections: port === "public" ? settings.maxConnections : ADMIN_CONNECTIONS,
      answer: (request, response) => (port === "public" ? answerPublic : answerAdmin)(state, request, response),
      onRefused: (reason) => counters.refused.add({ port, reason }),
      onEvicted: () => counters.evicted.add({ port }),
      onFailed: (error) => log("error", "internal", error instanceof Error ? (error.stack ?? error.message) : "failed"),
    });
  const key = await open("public");
  const admin = await open("admin").catch(async (error: unknown) => {
    await key.close(0);
    throw settings.admin.port === settings.key.port ? withoutOther(error) : error;
  });
  state.listeners = { public: key, admin };
  return { public: key, admin };
}

/** No other program is in the way if both ports are the same. */
function withoutOther(error: unknown): unknown {
  if (!(error instanceof CliError) || error.code !== "port_in_use") return error;
  return new CliError(EXIT.usage, error.code, "--admin-port: it is the port of the key set too", {
    cause: error,
    hint: "Choose another port with --port or --admin-port",
  });
}

function printAddresses({ output }: CliContext, { public: key, admin }: Ports, pathname: string, json: boolean): void {
  const keySet = `${key.origin}${pathname}`;
  const discovery = `${keySet}${DISCOVERY}`;
  if (json) return output.line(JSON.stringify({ keySet, discovery, admin: admin.origin, pid: process.pid }));
  const { dim } = output.colors;
  output.line(`${dim("key set  ")} ${keySet}`);
  output.line(`${dim("discovery")} ${discovery}`);
  output.line(`${dim("status   ")} ${admin.origin}/`);
}

/** First says that no more requests should come, then takes no more, then finishes those that came. */
async function shutDown(state: ServerState, ports: Ports, settings: ServeSettings, log: Log): Promise<void> {
  const { shutdownTimeoutMs } = settings;
  // Nothing sends requests to a server that was never ready.
  const delayMs = isReady(state) ? settings.shutdownDelayMs : 0;
  state.isStopping = true;
  ports.public.lastResponses();
  const first = delayMs === 0 ? "accepts no more connections" : `serves for ${delayMs / 1000} s more`;
  log("info", "stopping", `${first}, then finishes its requests`);
  await pause(delayMs);
  await ports.public.close(shutdownTimeoutMs);
  log("info", "stopped", "finished its requests");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
