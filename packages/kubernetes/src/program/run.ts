import { assertOptions, type OptionNames, readCallback, readFlag, readSignal, readText } from "@signpost/core/adapter";
import { loadConfig, type LoadedConfig } from "../config/load-config.ts";
import { createPublication } from "../signer/publication.ts";
import { readSocketOptions } from "../socket/socket-options.ts";
import { readAdminPlace } from "./admin.ts";
import { failureOf } from "./failure.ts";
import { createLog, type Log } from "./log.ts";
import { readPublicPlace } from "./public-port.ts";
import { createReloads } from "./reloads.ts";
import { serveConfig } from "./serve-config.ts";
import { createKeys, createUse } from "./use.ts";

/** Options of `runKubernetesSigner`. */
export interface RunKubernetesSignerOptions {
  /** The path of the configuration, a JSON file. */
  readonly config: string;
  /** `true` reads the configuration, opens the keys that it needs now, and ends. Default false. */
  readonly check?: boolean | undefined;
  /** Ends the program, after its calls are done. Default none. */
  readonly signal?: AbortSignal | undefined;
  /** Gets each line of the log. Default: stderr. */
  readonly log?: ((line: string) => void) | undefined;
}

const RUN_OPTIONS: OptionNames<RunKubernetesSignerOptions> = { config: true, check: true, signal: true, log: true };

/**
 * Does what the command `signpost-kubernetes` does: reads a configuration, opens its keys, and serves kube-apiserver until the
 * signal aborts. SIGHUP loads the configuration again. The log has one line of JSON for each event.
 *
 * @returns the exit code: 0, 2 if the configuration is wrong, 3 if a key cannot be opened.
 * @example
 * ```ts
 * import { runKubernetesSigner } from "@signpost/kubernetes";
 *
 * const ending = new AbortController();
 * process.once("SIGTERM", () => ending.abort());
 * process.exitCode = await runKubernetesSigner({ config: "/etc/signpost/kubernetes.json", signal: ending.signal });
 * ```
 */
export async function runKubernetesSigner(options: RunKubernetesSignerOptions): Promise<number> {
  assertOptions("options", options, RUN_OPTIONS);
  const path = readText("config", options.config);
  const isCheck = readFlag("check", options.check);
  const ending = readSignal("signal", options.signal) ?? new AbortController().signal;
  const log = createLog(readCallback("log", options.log) ?? ((line) => void process.stderr.write(`${line}\n`)));
  const reloads = createReloads();
  // Before the configuration is read, and until the keys are closed: without a listener, the signal would end the process.
  process.on("SIGHUP", reloads.request);
  try {
    const loaded = await loadConfig(path);
    requireSettings(loaded);
    await (isCheck ? checkConfig(loaded, log, ending) : serveConfig(loaded, { path, log, reloads, ending }));
    return 0;
  } catch (error) {
    if (ending.aborted) return 0;
    const { exitCode, code, message } = failureOf(error);
    log("error", "failed", message, { code });
    return exitCode;
  } finally {
    process.off("SIGHUP", reloads.request);
  }
}

/** Refuses what only the start needs, before a key is opened. */
function requireSettings({ config }: LoadedConfig): void {
  readSocketOptions(config.socket);
  if (config.admin !== undefined) readAdminPlace(config.admin);
  if (config.publicJwks !== undefined) readPublicPlace(config.publicJwks);
}

async function checkConfig(loaded: LoadedConfig, log: Log, ending: AbortSignal): Promise<void> {
  const keys = createKeys(log, ending);
  try {
    await keys.load(loaded, () => void createUse(loaded, keys, createPublication(), log));
    const { active } = keys.schedule.keySet();
    log("info", "checked", "the configuration is right, and the active key is open", { kid: active.keyId });
  } finally {
    await keys.close();
  }
}
