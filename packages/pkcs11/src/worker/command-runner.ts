import type { CommandInput, CommandName, CommandOutput, KeyQuery, SessionState } from "../wire/commands.ts";
import type { Handle } from "../cryptoki/binding.ts";
import {
  CKR_OBJECT_HANDLE_INVALID,
  CKR_SESSION_HANDLE_INVALID,
  CKR_TOKEN_NOT_PRESENT,
  CKF_LOGIN_REQUIRED,
  CKF_SERIAL_SESSION,
  CKM_ECDSA,
  CKR_SESSION_CLOSED,
  CKR_SESSION_COUNT,
  CKR_USER_ALREADY_LOGGED_IN,
  CKR_USER_NOT_LOGGED_IN,
  CKS_RO_USER_FUNCTIONS,
  CKS_RW_USER_FUNCTIONS,
  CKU_CONTEXT_SPECIFIC,
  CKU_USER,
} from "../cryptoki/constants.ts";
import { alone, createGate, generation, inside } from "../wire/gate.ts";
import { BusyError, codeFrom, cryptoki, CryptokiError, KeyError, SignatureError } from "./failure.ts";
import { findKey } from "./find-key.ts";
import { LoadedModule } from "./loaded-module.ts";
import type { OpenSession } from "../cryptoki/objects.ts";
import { listTokens } from "./token-list.ts";

const DIGEST_LENGTH = 32;
const SIGNATURE_LENGTH = 64;

/** C_Finalize waits so long for other threads to leave the module. Milliseconds. */
const FINALIZE_WAIT_MS = 1_000;

interface ThreadSession extends OpenSession {
  readonly slot: Handle;
  /** Of the gate, when the session was opened. */
  readonly generation: number;
}

interface SigningKey {
  readonly handle: Handle;
  readonly alwaysAuthenticate: boolean;
}

type Handlers = { readonly [Name in CommandName]: (input: CommandInput<Name>) => CommandOutput<Name> };

/** Runs a command: with what went in, and what comes out, by its name. */
export type CommandRunner = (name: CommandName, input: unknown) => unknown;

/** The commands of one thread: one module, at most one session, synchronous calls only. */
export function createCommandRunner(): CommandRunner {
  const module = new LoadedModule();
  /** C_Initialize answered CKR_OK to this thread. */
  let initialized = false;
  let slots: ReadonlyMap<number, Handle> = new Map();
  let session: ThreadSession | undefined;
  // Until the module is initialised nobody else can be inside it with us.
  let gate = createGate();
  const keys = new Map<number, SigningKey>();
  /** The key of the operation that is active and logged in for one signature. */
  let authenticated: number | undefined;

  const current = (): ThreadSession => {
    // Its number may belong to somebody else's session since the module was finalised.
    if (session !== undefined && session.generation !== generation(gate)) forgetSession();
    if (session === undefined) throw new CryptokiError("session", CKR_SESSION_HANDLE_INVALID);
    return session;
  };
  const forgetSession = (): void => {
    session = undefined;
    authenticated = undefined;
    keys.clear();
  };
  const dropSession = (): void => {
    const before = session;
    forgetSession();
    if (before === undefined || before.generation !== generation(gate)) return;
    // A session that is invalid already cannot be closed; there is nothing left to do about it.
    codeFrom(() => before.binding.C_CloseSession(before.handle));
  };

  const handlers: Handlers = {
    load: (file) => {
      module.load(file);
      return null;
    },
    attach: () => {
      initialized = module.initialize();
      return { initialized, instance: module.instance() };
    },
    undoAttach: () => {
      if (initialized) module.finalize();
      return null;
    },
    useGate: (input) => {
      ({ gate } = input);
      return null;
    },
    renew: ({ finalize, generation: expected }) => {
      let output: CommandOutput<"renew"> | undefined;
      slots = new Map();
      const calls = (): void => {
        output = module.renew(gate, finalize, expected);
      };
      if (!alone(gate, FINALIZE_WAIT_MS, calls)) {
        if (finalize) throw new BusyError("other threads are inside the module");
        // Whatever is inside was there when somebody else finalised the module. It may never come back.
        calls();
      }
      return output ?? { initialized: false, finalized: false };
    },
    initialize: ({ gate: shared, instance, ...file }) => {
      module.load(file);
      // Nobody else is inside an instance of this thread's own.
      gate = instance === "own" ? createGate() : shared;
      if (instance === "own") module.initialize();
      return { owner: instance === "own" };
    },
    finalize: ({ module: whole, gone }) => {
      if (gone === true) forgetSession();
      else inside(gate, dropSession);
      slots = new Map();
      if (whole && !alone(gate, FINALIZE_WAIT_MS, () => module.finalize())) {
        throw new BusyError("other threads are inside the module");
      }
      return null;
    },
    tokens: () => {
      const listed = listTokens(module.binding);
      ({ slots } = listed);
      return listed.list;
    },
    openSession: ({ slotId }) => {
      const { binding } = module;
      if (!slots.has(slotId)) ({ slots } = listTokens(binding));
      const slot = slots.get(slotId);
      if (slot === undefined) throw new CryptokiError("C_OpenSession", CKR_TOKEN_NOT_PRESENT);
      const open = (): Handle => cryptoki("C_OpenSession", () => binding.C_OpenSession(slot, CKF_SERIAL_SESSION));
      // The new one first: closing the last session of a token logs everybody out.
      let handle: Handle;
      try {
        handle = open();
      } catch (error) {
        if (!(error instanceof CryptokiError && error.code === CKR_SESSION_COUNT)) throw error;
        dropSession();
        handle = open();
      }
      dropSession();
      session = { binding, handle, slot, generation: generation(gate) };
      return sessionState(session);
    },
    session: () => {
      const checked = current();
      try {
        return sessionState(checked);
      } catch (error) {
        // Closed by others. Its number may come again for another session, which is not ours to close.
        if (isSessionGone(error)) forgetSession();
        throw error;
      }
    },
    login: ({ pin }) => {
      const { binding, handle } = current();
      const code = codeFrom(() => binding.C_Login(handle, CKU_USER, pin));
      if (code !== undefined && code !== CKR_USER_ALREADY_LOGGED_IN) throw new CryptokiError("C_Login", code);
      return { covered: code !== undefined };
    },
    findKey: ({ key, query }) => {
      const { handle, found } = findWhereLoggedIn(current(), query);
      keys.set(key, { handle, alwaysAuthenticate: found.alwaysAuthenticate });
      return found;
    },
    forgetKey: ({ key }) => {
      keys.delete(key);
      return null;
    },
    authenticate: ({ key, pin }) => {
      const { binding, handle } = current();
      startSignature(current(), keys.get(key));
      cryptoki("C_Login", () => binding.C_Login(handle, CKU_CONTEXT_SPECIFIC, pin));
      authenticated = key;
      return null;
    },
    sign: ({ key, digest }) => {
      // Modules take other lengths silently, and sign whatever they make of them.
      if (digest.length !== DIGEST_LENGTH) throw new RangeError("digest");
      const signing = current();
      if (keys.get(key)?.alwaysAuthenticate !== true) startSignature(signing, keys.get(key));
      else if (authenticated !== key) throw new CryptokiError("C_Sign", CKR_USER_NOT_LOGGED_IN);
      authenticated = undefined;
      return finishSignature(signing, digest);
    },
  };

  return (name, input) => {
    const handler = handlers[name] as (value: unknown) => unknown;
    return OUTSIDE.has(name) ? handler(input) : inside(gate, () => handler(input));
  };
}

/** Commands that see to the gate themselves, or stay out of what it guards. */
const OUTSIDE: ReadonlySet<CommandName> = new Set([
  "load",
  "attach",
  "undoAttach",
  "useGate",
  "renew",
  "initialize",
  "finalize",
]);

function isSessionGone(error: unknown): boolean {
  if (!(error instanceof CryptokiError)) return false;
  return error.code === CKR_SESSION_HANDLE_INVALID || error.code === CKR_SESSION_CLOSED;
}

function sessionState({ binding, handle, slot }: ThreadSession): SessionState {
  const { state } = cryptoki("C_GetSessionInfo", () => binding.C_GetSessionInfo(handle));
  const { flags } = cryptoki("C_GetTokenInfo", () => binding.C_GetTokenInfo(slot));
  const loggedIn = state === CKS_RO_USER_FUNCTIONS || state === CKS_RW_USER_FUNCTIONS;
  return { loggedIn, loginNeeded: !loggedIn && (flags & CKF_LOGIN_REQUIRED) !== 0, tokenFlags: flags };
}

/** Tokens hide private keys from those who are not logged in: finding none says nothing about the key then. */
function findWhereLoggedIn(session: ThreadSession, query: KeyQuery): ReturnType<typeof findKey> {
  try {
    return findKey(session, query);
  } catch (error) {
    if (!(error instanceof KeyError) || error.code !== "key_not_found" || !sessionState(session).loginNeeded)
      throw error;
    throw new CryptokiError("C_FindObjects", CKR_USER_NOT_LOGGED_IN);
  }
}

function startSignature({ binding, handle }: OpenSession, key: SigningKey | undefined): void {
  if (key === undefined) throw new CryptokiError("C_SignInit", CKR_OBJECT_HANDLE_INVALID);
  cryptoki("C_SignInit", () => binding.C_SignInit(handle, { mechanism: CKM_ECDSA }, key.handle));
}

function finishSignature({ binding, handle }: OpenSession, digest: Uint8Array): Uint8Array {
  const output = Buffer.alloc(SIGNATURE_LENGTH);
  const signature = cryptoki("C_Sign", () => binding.C_Sign(handle, Buffer.from(digest), output));
  if (signature.length !== SIGNATURE_LENGTH) {
    throw new SignatureError(`C_Sign: expected a signature of ${SIGNATURE_LENGTH} bytes, got ${signature.length}`);
  }
  return new Uint8Array(signature);
}
