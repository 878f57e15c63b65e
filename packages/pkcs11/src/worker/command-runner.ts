import { CryptokiError } from "../cryptoki/call.ts";
import type { CommandInput, CommandName, CommandOutput } from "../wire/commands.ts";
import { inside } from "../wire/gate.ts";
import { readCertificates } from "./read-certificates.ts";
import { WorkerModule } from "./worker-module.ts";
import { WorkerSession } from "./worker-session.ts";

type Handlers = { readonly [Name in CommandName]: (input: CommandInput<Name>) => CommandOutput<Name> };

type SessionCommand = "openSession" | "session" | "login" | "findKey" | "forgetKey" | "authenticate" | "sign";

/** Runs a command by name, with its input and output. */
export type CommandRunner = (name: CommandName, input: unknown) => unknown;

/** The commands of one session thread or control thread: one module, at most one session, synchronous calls only. */
export function createCommandRunner(): CommandRunner {
  const module = new WorkerModule();
  const session = new WorkerSession(module);
  const handlers: Handlers = { ...moduleHandlers(module, session), ...sessionHandlers(session) };

  return (name, input) => {
    const handler = handlers[name] as (value: unknown) => unknown;
    return OUTSIDE.has(name) ? handler(input) : inside(module.gate, () => dated(module, () => handler(input)));
  };
}

/**
 * Notes in a failure in which of the module's lives its calls began. They may be inside while another thread initializes a module
 * that other code finalized.
 */
function dated<Result>(module: WorkerModule, calls: () => Result): Result {
  const begun = module.generation;
  try {
    return calls();
  } catch (error) {
    if (error instanceof CryptokiError) error.generation = begun;
    throw error;
  }
}

/** Commands that handle the gate themselves, or need no protection by it. */
const OUTSIDE: ReadonlySet<CommandName> = new Set([
  "load",
  "attach",
  "undoAttach",
  "useGate",
  "renew",
  "initialize",
  "finalize",
]);

function moduleHandlers(module: WorkerModule, session: WorkerSession): Omit<Handlers, SessionCommand> {
  return {
    load: (file) => nothing(module.load(file)),
    attach: () => module.attach(),
    undoAttach: () => nothing(module.undoAttach()),
    useGate: ({ gate }) => nothing(module.useGate(gate)),
    renew: (input) => module.renew(input),
    initialize: (input) => module.initialize(input),
    finalize: ({ module: whole, gone }) => {
      if (gone === true) session.forget();
      else inside(module.gate, () => session.close());
      return nothing(module.finalize(whole));
    },
    tokens: () => module.tokens(),
    certificates: ({ token }) => readCertificates(module, token),
  };
}

function sessionHandlers(session: WorkerSession): Pick<Handlers, SessionCommand> {
  return {
    openSession: ({ token }) => session.open(token),
    session: () => session.state(),
    login: ({ pin }) => session.login(pin),
    findKey: (input) => session.findKey(input),
    forgetKey: ({ key }) => nothing(session.forgetKey(key)),
    authenticate: (input) => nothing(session.authenticate(input)),
    sign: (input) => session.sign(input),
  };
}

/** The output of a command that has none. */
function nothing(_done: void): null {
  return null;
}
