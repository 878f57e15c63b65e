// A member of each class's prototype that holds the class's name. `Symbol.for`, so that two copies of this package agree.
const CLASS = Symbol.for("@signpost/core/error");

interface Marked {
  readonly [CLASS]?: unknown;
}

/**
 * Makes `instanceof` work for an error class across installed copies of its package: each copy marks its class with the
 * same name. Call it in a static block with `this.prototype` and the class's name, which no other package may use.
 *
 * @example
 * ```ts
 * import { VerifyError } from "@signpost/core";
 * import { markErrorClass } from "@signpost/core/adapter";
 *
 * export class TicketError extends VerifyError {
 *   static {
 *     markErrorClass(this.prototype, "TicketError");
 *   }
 * }
 * ```
 */
export function markErrorClass(prototype: object, name: string): void {
  Object.defineProperty(prototype, CLASS, { value: name });
}

/** Whether an object is an instance of the class marked with this name, or of a derived class. */
function isMarked(value: object, name: unknown): boolean {
  // The fast path: most values have no mark at all.
  if ((value as Marked)[CLASS] === undefined) return false;
  for (let link: unknown = value; typeof link === "object" && link !== null; link = Object.getPrototypeOf(link)) {
    if (Object.hasOwn(link, CLASS) && (link as Marked)[CLASS] === name) return true;
  }
  return false;
}

/**
 * Base class of every error that Signpost throws on purpose. Switch on `code`, never on the message.
 *
 * `instanceof` also works for errors from another installed copy of this package, such as one that an adapter depends on.
 */
export class SignpostError extends Error {
  static {
    markErrorClass(this.prototype, "SignpostError");
  }

  /** Also true for errors from another copy of this package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    try {
      if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
      if (typeof value !== "object" || value === null || !Object.hasOwn(this.prototype, CLASS)) return false;
      return isMarked(value, (this.prototype as Marked)[CLASS]);
    } catch {
      // A Proxy may throw, or may be revoked.
      return false;
    }
  }

  /** Name of the class. */
  override readonly name: string = "SignpostError";
  /** Machine-readable reason. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Why a signer failed.
 *
 * | code | meaning | transient |
 * |---|---|---|
 * | `unavailable` | the backend cannot be reached, or the session with it was lost | yes |
 * | `throttled` | the backend refuses for now, because of a rate limit or quota | yes |
 * | `timeout` | an attempt or the deadline ran out | yes |
 * | `overloaded` | the guard's queue is full, or its limiter has no permit in time; nothing was sent | yes |
 * | `aborted` | the caller's signal aborted; its reason is the `cause` | no |
 * | `closed` | the signer was closed | no |
 * | `key_not_found`, `key_disabled`, `access_denied` | the backend refuses this key | no |
 * | `ambiguous_key` | more than one key matches | no |
 * | `unsupported_key` | not a P-256 key that may sign ES256 | no |
 * | `wrong_key` | not the key that was opened | no |
 * | `pin_incorrect`, `pin_locked` | PKCS#11 user PIN; never retried automatically | no |
 * | `bad_signature` | the signature does not verify, or is out of range | no |
 * | `integrity` | the answer is incomplete or was corrupted in transit | sometimes |
 * | `invalid_argument` | the caller passed an invalid argument | no |
 */
export type SignerErrorCode =
  | "unavailable"
  | "throttled"
  | "timeout"
  | "overloaded"
  | "aborted"
  | "closed"
  | "key_not_found"
  | "key_disabled"
  | "access_denied"
  | "ambiguous_key"
  | "unsupported_key"
  | "wrong_key"
  | "pin_incorrect"
  | "pin_locked"
  | "bad_signature"
  | "integrity"
  | "invalid_argument";

const ALWAYS_TRANSIENT: ReadonlySet<SignerErrorCode> = new Set(["unavailable", "throttled", "timeout", "overloaded"]);

/** Options of the `SignerError` constructor. */
export interface SignerErrorOptions extends ErrorOptions {
  /** Whether the same call may succeed later. Only used for `integrity`. Default false. */
  readonly transient?: boolean | undefined;
  /** Key URI of the signer. If it is missing, the guard and `createSigner` add it. */
  readonly uri?: string | undefined;
}

/** An error of a signer or of its backend. `transient` says whether the same call may succeed later. */
export class SignerError extends SignpostError {
  static {
    markErrorClass(this.prototype, "SignerError");
  }

  /** Name of the class. */
  override readonly name: string = "SignerError";
  /** Machine-readable reason. */
  declare readonly code: SignerErrorCode;
  /** Whether the same call may succeed later. */
  readonly transient: boolean;
  /** Key URI of the signer that failed, or of the key that could not be opened. Undefined if neither is known. */
  readonly uri: string | undefined;

  /** The option `transient` is only used for `integrity`. For every other code it follows from the code. */
  constructor(code: SignerErrorCode, message: string, options?: SignerErrorOptions) {
    super(code, message, options);
    this.uri = options?.uri;
    this.transient = ALWAYS_TRANSIENT.has(code) || (code === "integrity" && options?.transient === true);
  }
}

/**
 * Adds the key URI of the signer to an error without one. It returns a copy, because the code that threw the error may
 * throw it again for another signer, or may have frozen it. Errors of a class derived from `SignerError`, and values that
 * are not a `SignerError`, are returned unchanged.
 *
 * @example
 * ```ts
 * import { nameSigner } from "@signpost/core/adapter";
 *
 * declare function open(key: string): Promise<unknown>;
 *
 * export const openNamed = (key: string): Promise<unknown> =>
 *   open(key).catch((error: unknown) => {
 *     throw nameSigner(error, `example:${key}`);
 *   });
 * ```
 */
export function nameSigner(error: SignerError, uri: string): SignerError;
/** Same, for any thrown value. */
export function nameSigner(error: unknown, uri: string): unknown;
export function nameSigner(error: unknown, uri: string): unknown {
  if (!(error instanceof SignerError) || error.constructor !== SignerError) return error;
  return error.uri === undefined ? namedCopy(error, uri) : error;
}

/** Makes every failure of a signer a SignerError. Anything else becomes the `cause` of an `integrity` error. */
export function asSignerError(error: unknown): SignerError {
  if (error instanceof SignerError) return error;
  return new SignerError("integrity", "the signer failed with something other than a SignerError", { cause: error });
}

function namedCopy(error: SignerError, uri: string): SignerError {
  const { code, message, transient, stack } = error;
  const named = new SignerError(code, message, { ...("cause" in error && { cause: error.cause }), transient, uri });
  // The copy says what the error said, also where that contradicts the code: the checks for signers must see it.
  if (named.transient !== transient) Object.defineProperty(named, "transient", { value: transient });
  if (stack !== undefined) Object.defineProperty(named, "stack", { value: stack, configurable: true, writable: true });
  return named;
}

/** An option or argument is invalid. `argument` is its name, and the message says what was expected. */
export class ConfigurationError extends SignpostError {
  static {
    markErrorClass(this.prototype, "ConfigurationError");
  }

  /** Name of the class. */
  override readonly name: string = "ConfigurationError";
  /** Name of the option or argument: `policy.deadlineMs`, `entries[1].publicKey`. */
  readonly argument: string;

  constructor(argument: string, expected: string, options?: ErrorOptions & { code?: string | undefined }) {
    super(options?.code ?? "invalid_configuration", `${argument}: ${expected}`, options);
    this.argument = argument;
  }
}

/** Bytes or a JWK have an invalid encoding. `code` says which encoding. */
export class EncodingError extends SignpostError {
  static {
    markErrorClass(this.prototype, "EncodingError");
  }

  /** Name of the class. */
  override readonly name: string = "EncodingError";
  /** Which encoding is invalid, or why the key is refused. */
  declare readonly code: EncodingErrorCode;

  constructor(code: EncodingErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/**
 * Which encoding is invalid. `unsupported_key` is a well-formed key of another type, curve or size. `weak_key` is an RSA
 * key of fewer than 2048 bits.
 */
export type EncodingErrorCode =
  | "invalid_der"
  | "invalid_spki"
  | "invalid_point"
  | "invalid_jwk"
  | "invalid_signature"
  | "unsupported_key"
  | "weak_key";

/** Options of the `VerifyError` constructor. */
export interface VerifyErrorOptions extends ErrorOptions {
  /** Whether the same call may succeed later. Default false. */
  readonly transient?: boolean | undefined;
}

/**
 * A token or key set was refused. `transient: false` means that the token is at fault, and a gateway answers 401.
 * `transient: true` means that something needed for the check did not work, and a gateway answers 503.
 */
export class VerifyError extends SignpostError {
  static {
    markErrorClass(this.prototype, "VerifyError");
  }

  /** Name of the class. */
  override readonly name: string = "VerifyError";
  /** Whether the same call may succeed later: the network, another party's answer or a store failed, not the token. */
  readonly transient: boolean;

  constructor(code: string, message: string, options?: VerifyErrorOptions) {
    super(code, message, options);
    this.transient = options?.transient === true;
  }
}
