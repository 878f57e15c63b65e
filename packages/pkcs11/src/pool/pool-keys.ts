import { ConfigurationError, type P256PublicJwk, SignerError } from "@signpost/core";
import { closedError, elapsedMs, type Instant, readInstant } from "@signpost/core/adapter";
import type { PrivateKeyDescription } from "../cryptoki/descriptions.ts";
import { type PrivateKeyQuery, queryAgain } from "../request/key-request.ts";
import type { PinSource } from "../request/pin.ts";
import { CommandError, toPublicError } from "../wire/command-error.ts";
import { KEY_REFUSAL_MS } from "./limits.ts";
import type { ModuleLife } from "./module-life.ts";
import { lookUpKey, proveNewKey, type ProvenKey, proveSameKey, type TakenSession, withLogin } from "./taken-session.ts";

/** A key that a signer of the pool uses. */
export interface PoolKey extends ProvenKey {
  readonly query: PrivateKeyQuery;
  /** The PIN source of its signer. */
  readonly pin: PinSource;
  /** It was opened in a session that was logged in. Otherwise it needed no login. */
  readonly loggedIn: boolean;
  /** CKA_ALWAYS_AUTHENTICATE: each signature needs its own login. */
  readonly alwaysAuthenticate: boolean;
  /** The number of recoveries when it was opened. */
  readonly recoveries: number;
  /** The number of fresh starts of the module when it was last found. */
  foundAt: number;
  /** Why it cannot be used. Assumed to be true for a short time. */
  refusal: { readonly error: SignerError; readonly foundAt: Instant } | undefined;
}

/** The key to open, and what is known about its public half. */
export interface KeyToOpen {
  readonly query: PrivateKeyQuery;
  /** The public half, if the caller gave it. */
  readonly publicKey: P256PublicJwk | undefined;
  /** The public half that was proven in another child process. */
  readonly publicKeyBefore?: P256PublicJwk | undefined;
}

/** A key that was opened in the pool. */
export interface PoolOpenOutput {
  /** The key's number in the pool. */
  readonly key: number;
  readonly found: PrivateKeyDescription;
  readonly publicKey: P256PublicJwk;
}

/** The keys of one token that its signers use, by number, and whether each is still the key that was opened. */
export class PoolKeys {
  readonly #module: ModuleLife;
  readonly #recoveries: () => number;
  readonly #keys: Map<number, PoolKey> = new Map();
  #next = 0;
  #freshStarts = 0;

  /** `recoveries`: how many failures the sessions have recovered from. */
  constructor(module: ModuleLife, recoveries: () => number) {
    this.#module = module;
    this.#recoveries = recoveries;
  }

  /** For a key that is about to be opened. */
  nextNumber(): number {
    return this.#next++;
  }

  has(number: number): boolean {
    return this.#keys.has(number);
  }

  /** Whether each signature of the key needs its own login. */
  alwaysAuthenticates(number: number): boolean {
    return this.#keys.get(number)?.alwaysAuthenticate === true;
  }

  /** @throws SignerError `closed`, or the recent reason why the key cannot be used. */
  require(number: number): PoolKey {
    const key = this.#keys.get(number);
    if (key === undefined) throw closedError();
    if (key.refusal !== undefined && elapsedMs(key.refusal.foundAt) < KEY_REFUSAL_MS) throw key.refusal.error;
    return key;
  }

  /** Looks up a key in a session, and proves its public half. */
  async open(taken: TakenSession, { query, publicKey: given, publicKeyBefore }: KeyToOpen): Promise<PoolOpenOutput> {
    const { key } = taken;
    const pinned = given !== undefined;
    const recoveries = this.#recoveries();
    const prove = async (found: PrivateKeyDescription): Promise<P256PublicJwk> => {
      if (publicKeyBefore === undefined) return proveNewKey(taken, found, given);
      await proveSameKey(taken, found, { publicKey: publicKeyBefore, pinned }, true);
      return publicKeyBefore;
    };
    const { found, publicKey } = await withLogin(taken, async () => {
      const description = await lookUpKey(taken, query);
      return { found: description, publicKey: await prove(description) };
    });
    const { loggedIn } = await taken.run("session", null);
    // Another signer's login may show the key, but a signer with a wrong PIN must not use it.
    if (loggedIn) await taken.login.admitLate(taken.pin);
    this.#keys.set(key, {
      query: queryAgain(query, found),
      pin: taken.pin,
      publicKey,
      pinned,
      loggedIn,
      alwaysAuthenticate: found.alwaysAuthenticate,
      recoveries,
      foundAt: this.#freshStarts,
      refusal: undefined,
    });
    return { key, found, publicKey };
  }

  /** Looks up a key in a session that does not know it, and makes sure that it is still the same. */
  async findAgain(taken: TakenSession, key: PoolKey): Promise<void> {
    try {
      const find = async (): Promise<void> => {
        const found = await lookUpKey(taken, key.query);
        await proveSameKey(taken, found, key, this.#recoveries() > key.recoveries);
      };
      await (key.loggedIn ? withLogin(taken, find) : find());
      key.foundAt = this.#freshStarts;
    } catch (error) {
      taken.session.keys.delete(taken.key);
      throw this.#notUsable(key, error);
    }
  }

  close(number: number): void {
    this.#keys.delete(number);
  }

  /** The module was initialized again: a key that is not found from now on is really gone. */
  freshStart(): void {
    this.#freshStarts += 1;
  }

  /** A key may only seem to be gone because the module has to be initialized again, if that has not been done since. */
  #notUsable(key: PoolKey, error: unknown): unknown {
    if (!keepsSession(error)) return error;
    if (isKeyNotFound(error) && this.#module.owned && key.foundAt === this.#freshStarts) {
      // The fresh start waits until the failing job here is out of the way.
      setImmediate(() => void this.#module.freshStarts.reinitialize(error));
      return new SignerError(
        "unavailable",
        `${toPublicError(error).message} (the module is being initialized again to make sure)`,
        {
          cause: error,
        },
      );
    }
    const refusal = toPublicError(error);
    if (isAboutKey(refusal)) key.refusal = { error: refusal, foundAt: readInstant() };
    return error;
  }
}

/** The session is fine: it answered, and the answer is about the key. */
export function keepsSession(error: unknown): boolean {
  if (error instanceof CommandError) return error.failure.kind === "key";
  // The source may have returned something that is not a PIN.
  return error instanceof ConfigurationError || (error instanceof SignerError && error.code !== "timeout");
}

function isKeyNotFound(error: unknown): boolean {
  return error instanceof CommandError && error.failure.kind === "key" && error.failure.code === "key_not_found";
}

const KEY_CODES: ReadonlySet<string> = new Set(["key_not_found", "ambiguous_key", "unsupported_key", "wrong_key"]);

/** Whether the error is about the key, found by the search or the proof, and not about the session. */
function isAboutKey(error: Error): error is SignerError {
  return error instanceof SignerError && KEY_CODES.has(error.code);
}
