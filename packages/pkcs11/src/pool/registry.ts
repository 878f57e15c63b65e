import { SignerError } from "@signpost/core";
import { withinDeadline } from "@signpost/core/adapter";
import { createGateExchange, type GateExchange } from "../sharing/gate-exchange.ts";
import { processPins } from "../sharing/process-pins.ts";
import type { ModuleFile } from "../wire/commands.ts";
import { otherParametersError } from "../wire/other-parameters.ts";
import { STOP_WAIT_MS } from "./limits.ts";
import { ThreadModule } from "./module.ts";

interface ModuleEntry {
  readonly libraryParameters: string | undefined;
  readonly module: ThreadModule;
  readonly started: Promise<void>;
  users: number;
  stopping: Promise<void> | undefined;
}

// The only state that belongs to the process and not to a caller. A module can be initialized once in a process, so all
// callers that open signers on it must know about each other.
const modules = new Map<string, ModuleEntry>();
let exchange: GateExchange | undefined;

/**
 * The initialized module at a path, with one more user. @throws ConfigurationError if its users gave other parameters for
 * C_Initialize
 */
export async function retainModule(file: ModuleFile): Promise<ThreadModule> {
  for (;;) {
    const entry = modules.get(file.module);
    if (entry?.stopping === undefined) break;
    await untilStopped(entry.stopping);
  }
  const entry = modules.get(file.module) ?? addModule(file);
  if (entry.libraryParameters !== file.libraryParameters) {
    await entry.started;
    throw otherParametersError();
  }
  entry.users += 1;
  try {
    await entry.started;
    return entry.module;
  } catch (error) {
    // A start that hangs is not repeated before it has returned, because each try would cost a thread.
    const undone = entry.module.life.undone().then(() => forget(file.module, entry));
    await Promise.race([undone, entry.module.life.hanging.some()]);
    throw error;
  }
}

/**
 * The last users are gone. One of their calls may still hang, so that the module cannot be finalized and we cannot start it
 * again.
 */
async function untilStopped(stopping: Promise<void>): Promise<void> {
  try {
    await withinDeadline(() => stopping, { deadlineMs: STOP_WAIT_MS });
  } catch (cause) {
    const message = "a call is hanging inside the module, which cannot be initialized again until it returns";
    throw new SignerError("unavailable", message, { cause });
  }
}

/** Removes a user. The last one finalizes the module if it is ours. */
export async function releaseModule(module: ThreadModule): Promise<void> {
  const [path, entry] = [...modules].find(([, candidate]) => candidate.module === module) ?? [];
  if (path === undefined || entry === undefined) return;
  entry.users -= 1;
  if (entry.users > 0) return;
  entry.stopping = entry.module.life.stop().then(() => forget(path, entry));
  // Closing does not wait for a hanging call. The entry stays until that call has returned.
  await Promise.race([entry.stopping, entry.module.life.hanging.some()]);
}

function addModule(file: ModuleFile): ModuleEntry {
  exchange ??= createGateExchange(
    (asked, opening) => modules.get(asked)?.module.life.answer(opening),
    () => processPins().expectOthers(),
  );
  const { ask } = exchange;
  const module = new ThreadModule(file, (...question) => ask(file.module, ...question));
  const { libraryParameters } = file;
  const entry: ModuleEntry = { libraryParameters, module, started: module.life.start(), users: 0, stopping: undefined };
  if (modules.size === 0) process.on("exit", shutDownAll);
  modules.set(file.module, entry);
  return entry;
}

function forget(path: string, entry: ModuleEntry): void {
  if (modules.get(path) !== entry) return;
  modules.delete(path);
  if (modules.size > 0) return;
  process.off("exit", shutDownAll);
  exchange?.close();
  exchange = undefined;
}

// In some tokens, sessions that a process leaves open stay open (a TPM has three).
function shutDownAll(): void {
  for (const { module } of modules.values()) module.shutDown();
}
