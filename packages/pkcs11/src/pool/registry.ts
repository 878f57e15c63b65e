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

// The one piece of state that belongs to the process and not to a caller: a module can be initialized once in a
// process, so whoever opens signers on it has to know of the others.
const modules = new Map<string, ModuleEntry>();
let exchange: GateExchange | undefined;

/** The module at a path, initialized, with one more user. @throws ConfigurationError where users have given something else for C_Initialize */
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
    // A start that hangs is not repeated before it has come back: each would cost a thread.
    const undone = entry.module.life.undone().then(() => forget(file.module, entry));
    await Promise.race([undone, entry.module.life.hanging.some()]);
    throw error;
  }
}

/** The last users are gone. A call of theirs that hangs may keep the module from being finalized, and us from starting it again. */
async function untilStopped(stopping: Promise<void>): Promise<void> {
  try {
    await withinDeadline(() => stopping, { deadlineMs: STOP_WAIT_MS });
  } catch (cause) {
    const message = "a call hangs inside the module, which cannot be initialized again meanwhile";
    throw new SignerError("unavailable", message, { cause });
  }
}

/** Takes the user back. The last one finalizes the module, where it is ours. */
export async function releaseModule(module: ThreadModule): Promise<void> {
  const [path, entry] = [...modules].find(([, candidate]) => candidate.module === module) ?? [];
  if (path === undefined || entry === undefined) return;
  entry.users -= 1;
  if (entry.users > 0) return;
  entry.stopping = entry.module.life.stop().then(() => forget(path, entry));
  // Nobody waits for a call that hangs: the entry stays until it has come back.
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

// Sessions that a process leaves open stay open in some tokens (a TPM has three).
function shutDownAll(): void {
  for (const { module } of modules.values()) module.shutDown();
}
