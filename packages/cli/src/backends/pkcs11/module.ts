import { fork } from "node:child_process";
import { once } from "node:events";
import { realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { resolvePackage } from "../../keys/import-package.ts";
import { CliError } from "../../program/cli-error.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT } from "../../program/exit-codes.ts";
import type { AdapterOptions } from "../../keys/adapters.ts";
import type { ModuleAnswer, ModuleRequest } from "./messages.ts";
import { readTokenUri, type TokenUri } from "./uri.ts";

/** A module and the part of a URI that selects a token and a key. */
export interface ModulePlace {
  readonly module: string;
  /** Text for C_Initialize, for the few modules that need it. */
  readonly parameters: string | undefined;
  readonly uri: TokenUri;
  /** Path of the compiled binding. */
  readonly binding: string;
}

/**
 * Where the module of a URI is. Undefined if nothing names it, if the options do not allow it, or if `pkcs11js` is not
 * installed.
 */
export async function findModule(
  uri: string,
  options: AdapterOptions,
  context: CliContext,
): Promise<ModulePlace | undefined> {
  const parsed = readTokenUri(uri);
  const { modulePath, moduleName } = parsed;
  const named: unknown =
    moduleName === undefined ? options["module"] : Reflect.get(Object(options["modules"]), moduleName);
  const module = modulePath ?? named;
  // The adapter brings the binding, so look next to it too.
  const here = dirname(fileURLToPath(import.meta.url));
  const adapter = resolvePackage("@signpost/pkcs11", [here, context.cwd]);
  const folders = [here, ...(adapter === undefined ? [] : [dirname(adapter)]), context.cwd];
  const binding = resolvePackage("pkcs11js", folders);
  if (typeof module !== "string" || binding === undefined) return undefined;
  if (!(await isAllowed(module, options["allowedModules"]))) return undefined;
  const given = options["libraryParameters"];
  return { module, parameters: typeof given === "string" ? given : undefined, uri: parsed, binding };
}

/** The place of a key that is open, whose URI names its token and its key exactly. */
export function placeOfOpened(place: ModulePlace, keyUri: string): ModulePlace {
  const named = Object.entries(readTokenUri(keyUri)).filter(([, value]) => value !== undefined);
  return { ...place, uri: { ...place.uri, ...(Object.fromEntries(named) as Partial<TokenUri>) } };
}

/** As the adapter decides it: by the real path of the module. To load a module is to run its code. */
async function isAllowed(module: string, allowed: unknown): Promise<boolean> {
  if (allowed === undefined) return true;
  const real = async (path: unknown): Promise<string | undefined> => realpath(String(path)).catch(() => undefined);
  const [found, ...listed] = await Promise.all([module, ...[allowed].flat()].map(real));
  return found !== undefined && listed.includes(found);
}

type Task = ModuleRequest extends infer Request
  ? Request extends ModuleRequest
    ? Omit<Request, keyof ModulePlace>
    : never
  : never;

/** A module that hangs must not hang the command. */
const TIMEOUT_MS = 15_000;

/**
 * Runs a task in a child process: a module is initialized once in a process, and the adapter has initialized it in this one.
 * The PIN is sent over the channel, so no list of processes shows it.
 */
export async function runInModule<Result>(place: ModulePlace, task: Task, { signal }: CliContext): Promise<Result> {
  const child = fork(fileURLToPath(new URL("./pkcs11-program.js", import.meta.url)), {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    killSignal: "SIGKILL",
  });
  child.on("error", () => undefined);
  child.send({ ...place, ...task });
  // Also rejects when the time is over, which kills the child.
  const answered = Promise.race([once(child, "message"), once(child, "exit").then(() => [])]).catch(() => []);
  const [answer] = (await answered) as [ModuleAnswer?];
  if (answer?.ok === true) return answer.value as Result;
  const { code, message } = answer ?? {
    code: "module_ended",
    message: "the PKCS#11 module ended its process, or did not answer",
  };
  throw new CliError(EXIT.backend, code, message);
}
