import type { Handle } from "../cryptoki/binding.ts";
import { codeFrom, cryptoki, CryptokiError } from "../cryptoki/call.ts";
import {
  CKF_LOGIN_REQUIRED,
  CKF_SERIAL_SESSION,
  CKR_SESSION_CLOSED,
  CKR_SESSION_COUNT,
  CKR_SESSION_HANDLE_INVALID,
  CKR_TOKEN_NOT_PRESENT,
  CKR_USER_ALREADY_LOGGED_IN,
  CKR_USER_NOT_LOGGED_IN,
  CKS_RO_USER_FUNCTIONS,
  CKS_RW_USER_FUNCTIONS,
  CKU_CONTEXT_SPECIFIC,
  CKU_USER,
} from "../cryptoki/constants.ts";
import type { PrivateKeyDescription } from "../cryptoki/descriptions.ts";
import type { CryptokiSession } from "../cryptoki/objects.ts";
import type { PrivateKeyQuery } from "../request/key-request.ts";
import type { CommandInput, CommandOutput, LoginState, TokenInSlot } from "../wire/commands.ts";
import { generation } from "../wire/gate.ts";
import { KeySearchError } from "./failure.ts";
import { findKey } from "./find-key.ts";
import { finishSignature, startSignature } from "./signature.ts";
import { readToken, trimPadding } from "./token-list.ts";
import type { WorkerModule } from "./worker-module.ts";

const DIGEST_LENGTH = 32;

interface WorkerSessionHandle extends CryptokiSession {
  readonly slot: Handle;
  readonly token: TokenInSlot;
  /** The gate's generation when its opening began. */
  readonly generation: number;
}

interface WorkerKey {
  readonly handle: Handle;
  readonly alwaysAuthenticate: boolean;
}

/** The session commands of one thread: at most one session, and the keys found in it. */
export class WorkerSession {
  readonly #module: WorkerModule;
  readonly #keys: Map<number, WorkerKey> = new Map();
  #session: WorkerSessionHandle | undefined;
  /** The key of the active operation, which is logged in for one signature. */
  #authenticated: number | undefined;

  constructor(module: WorkerModule) {
    this.#module = module;
  }

  open(token: TokenInSlot): LoginState {
    const { binding, gate } = this.#module;
    const slot = this.#module.slot(token.slotId);
    // Before the call, in which a life of the module may end.
    const begun = generation(gate);
    const open = (): Handle => cryptoki("C_OpenSession", () => binding.C_OpenSession(slot, CKF_SERIAL_SESSION));
    // The new one first, because closing a token's last session logs everyone out.
    let handle: Handle;
    try {
      handle = open();
    } catch (error) {
      if (!(error instanceof CryptokiError && error.code === CKR_SESSION_COUNT)) throw error;
      this.close();
      handle = open();
    }
    // Other code closed the old one, and the module gave its number to the new one.
    if (this.#session?.handle.equals(handle) === true) this.forget();
    this.close();
    this.#session = { binding, handle, slot, token, generation: begun };
    return this.state();
  }

  state(): LoginState {
    const session = this.#current();
    try {
      return loginState(session);
    } catch (error) {
      // Other code closed it. Its number may belong to another session by now, which is not ours to close.
      if (isSessionGone(error)) this.forget();
      throw error;
    }
  }

  login(pin: string): CommandOutput<"login"> {
    const { binding, handle } = this.#current();
    const code = codeFrom(() => binding.C_Login(handle, CKU_USER, pin));
    if (code !== undefined && code !== CKR_USER_ALREADY_LOGGED_IN) throw new CryptokiError("C_Login", code);
    return { covered: code !== undefined };
  }

  findKey({ key, query }: CommandInput<"findKey">): PrivateKeyDescription {
    const { handle, found } = findWhereLoggedIn(this.#current(), query);
    this.#keys.set(key, { handle, alwaysAuthenticate: found.alwaysAuthenticate });
    return found;
  }

  forgetKey(key: number): void {
    this.#keys.delete(key);
  }

  authenticate({ key, pin }: CommandInput<"authenticate">): void {
    const session = this.#current();
    startSignature(session, this.#keys.get(key)?.handle);
    cryptoki("C_Login", () => session.binding.C_Login(session.handle, CKU_CONTEXT_SPECIFIC, pin));
    this.#authenticated = key;
  }

  sign({ key, digest }: CommandInput<"sign">): Uint8Array {
    // Modules accept other lengths silently and sign something else.
    if (digest.length !== DIGEST_LENGTH) throw new RangeError("digest");
    const session = this.#current();
    const known = this.#keys.get(key);
    if (known?.alwaysAuthenticate !== true) startSignature(session, known?.handle);
    else if (this.#authenticated !== key) throw new CryptokiError("C_Sign", CKR_USER_NOT_LOGGED_IN);
    this.#authenticated = undefined;
    return finishSignature(session, digest);
  }

  /** Without C_CloseSession, because another session may have its number by now. */
  forget(): void {
    this.#session = undefined;
    this.#authenticated = undefined;
    this.#keys.clear();
  }

  close(): void {
    const before = this.#session;
    this.forget();
    if (before === undefined || before.generation !== generation(this.#module.gate)) return;
    // An invalid session cannot be closed, and needs no more work.
    codeFrom(() => before.binding.C_CloseSession(before.handle));
  }

  #current(): WorkerSessionHandle {
    // Since the module was finalized, another session may have its number.
    if (this.#session !== undefined && this.#session.generation !== generation(this.#module.gate)) this.forget();
    if (this.#session === undefined) throw new CryptokiError("session", CKR_SESSION_HANDLE_INVALID);
    return this.#session;
  }
}

function isSessionGone(error: unknown): boolean {
  if (!(error instanceof CryptokiError)) return false;
  return error.code === CKR_SESSION_HANDLE_INVALID || error.code === CKR_SESSION_CLOSED;
}

/** Checked before each login, so that a PIN never goes to another token in our token's slot. */
function loginState({ binding, handle, slot, token }: WorkerSessionHandle): LoginState {
  const { state } = cryptoki("C_GetSessionInfo", () => binding.C_GetSessionInfo(handle));
  const { flags, label, serialNumber } = readToken(binding, slot);
  if (trimPadding(label) !== token.label || trimPadding(serialNumber) !== token.serial) {
    throw new CryptokiError("C_GetTokenInfo", CKR_TOKEN_NOT_PRESENT);
  }
  const loggedIn = state === CKS_RO_USER_FUNCTIONS || state === CKS_RW_USER_FUNCTIONS;
  return { loggedIn, loginNeeded: !loggedIn && (flags & CKF_LOGIN_REQUIRED) !== 0, tokenFlags: flags };
}

/** Tokens hide private keys before a login. Until then a missing key proves nothing. */
function findWhereLoggedIn(session: WorkerSessionHandle, query: PrivateKeyQuery): ReturnType<typeof findKey> {
  const missing = tryFindKey(session, query);
  if (!(missing instanceof KeySearchError)) return missing;
  const { loggedIn, loginNeeded } = loginState(session);
  if (loginNeeded) throw new CryptokiError("C_FindObjects", CKR_USER_NOT_LOGGED_IN);
  if (!loggedIn) throw seen(missing, "without a login, which the token does not ask for", true);
  // Another session may have logged in during the search.
  const again = tryFindKey(session, query);
  if (!(again instanceof KeySearchError)) return again;
  throw seen(again, "after a login", false);
}

/** The key, or the error for a missing one. */
function tryFindKey(session: WorkerSessionHandle, query: PrivateKeyQuery): ReturnType<typeof findKey> | KeySearchError {
  try {
    return findKey(session, query);
  } catch (error) {
    if (error instanceof KeySearchError && error.code === "key_not_found") return error;
    throw error;
  }
}

function seen({ code, message }: KeySearchError, login: string, withoutLogin: boolean): KeySearchError {
  return new KeySearchError(code, `${message}; this was seen ${login}`, withoutLogin);
}
