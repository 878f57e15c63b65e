// On the prototype of each class: the class's name. `Symbol.for`, so that two copies of this package agree.
const CLASS = Symbol.for("@signpost/core/error");

interface Marked {
  readonly [CLASS]?: unknown;
}

/**
 * Makes a class of errors one that `instanceof` knows across installed copies of its package: each copy marks its own class with
 * the same name. For a static block, `this.prototype` and the name of the class, which no other package may use.
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

/** Whether an object is of the class that was marked so, or of one derived from it. */
function isMarked(value: object, name: unknown): boolean {
  // What has no mark at all, as almost everything that is asked about, is known at once.
  if ((value as Marked)[CLASS] === undefined) return false;
  for (let link: unknown = value; typeof link === "object" && link !== null; link = Object.getPrototypeOf(link)) {
    if (Object.hasOwn(link, CLASS) && (link as Marked)[CLASS] === name) return true;
  }
  return false;
}

/**
 * Base class of every error that Signpost throws on purpose: switch on `code`, never on the message.
 *
 * `instanceof` also holds for the errors of another installed copy of this package (an adapter may bring one).
 */
export class SignpostError extends Error {
  static {
    markErrorClass(this.prototype, "SignpostError");
  }

  /** True for errors of another copy of this package too. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    try {
      if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
      if (typeof value !== "object" || value === null || !Object.hasOwn(this.prototype, CLASS)) return false;
      return isMarked(value, (this.prototype as Marked)[CLASS]);
    } catch {
      // A Proxy that throws, or was revoked, is asked as any error is.
      return false;
    }
  }

  /** Name of the class. */
  override readonly name: string = "SignpostError";
  /** What went wrong, for programs. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Why a signature was not made.
 *
 * | code | meaning | transient |
 * |---|---|---|
 * | `unavailable` | the backend cannot be reached, or lost its session | yes |
 * | `throttled` | the backend refuses for now: rate or quota | yes |
 * | `timeout` | an attempt or the deadline ran out | yes |
 * | `overloaded` | our own queue is full; nothing was sent | yes |
 * | `aborted` | the caller's signal; its reason is the `cause` | no |
 * | `closed` | the signer was closed | no |
 * | `key_not_found`, `key_disabled`, `access_denied` | the backend refuses this key | no |
 * | `ambiguous_key` | more than one key matches what was asked for | no |
 * | `unsupported_key` | not a P-256 key that may sign ES256 | no |
 * | `wrong_key` | another key than the one that was opened | no |
 * | `pin_incorrect`, `pin_locked` | PKCS#11 user PIN; never tried again by itself | no |
 * | `bad_signature` | a signature that does not verify or is out of range | no |
 * | `integrity` | an answer that is incomplete or was corrupted on the way | may be |
 * | `invalid_argument` | the caller's argument | no |
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

/** What a `SignerError` may be made with. */
export interface SignerErrorOptions extends ErrorOptions {
  /** Whether the same call may succeed later. Only read for `integrity`. Default false. */
  readonly transient?: boolean | undefined;
  /** Key URI of the signer. Default: the guard and `createSigner` fill it in. */
  readonly uri?: string | undefined;
}

/** An error of a signer or of its backend. `transient` says whether the same call may succeed later. */
export class SignerError extends SignpostError {
  static {
    markErrorClass(this.prototype, "SignerError");
  }

  /** Name of the class. */
  override readonly name: string = "SignerError";
  /** What went wrong, for programs. */
  declare readonly code: SignerErrorCode;
  /** Whether the same call may succeed later. */
  readonly transient: boolean;
  /** Key URI of the signer that failed, or of the key that could not be opened. Undefined where neither is known. */
  readonly uri: string | undefined;

  /** `transient` is only read for `integrity`: every other code decides it by itself. */
  constructor(code: SignerErrorCode, message: string, options?: SignerErrorOptions) {
    super(code, message, options);
    this.uri = options?.uri;
    this.transient = ALWAYS_TRANSIENT.has(code) || (code === "integrity" && options?.transient === true);
  }
}

/**
 * The error with the key URI of its signer. One that names none is copied: it is its thrower's own, which may throw it
 * again for another signer, or have frozen it. An error of a class derived from this one stays as it is. What is no
 * `SignerError` passes.
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
/** The same for whatever was thrown. */
export function nameSigner(error: unknown, uri: string): unknown;
export function nameSigner(error: unknown, uri: string): unknown {
  if (!(error instanceof SignerError) || error.constructor !== SignerError) return error;
  return error.uri === undefined ? namedCopy(error, uri) : error;
}

/** Every failure of a signer is a SignerError: one of ours as it is, anything else as the cause of `integrity`. */
export function asSignerError(error: unknown): SignerError {
  if (error instanceof SignerError) return error;
  return new SignerError("integrity", "the signer failed with something other than a SignerError", { cause: error });
}

function namedCopy(error: SignerError, uri: string): SignerError {
  const { code, message, transient, stack } = error;
  const named = new SignerError(code, message, { ...("cause" in error && { cause: error.cause }), transient, uri });
  if (stack !== undefined) Object.defineProperty(named, "stack", { value: stack, configurable: true, writable: true });
  return named;
}

/** An option or argument that can never work. `argument` is its name, the message says what was expected. */
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

/** Bytes or a JWK that break an encoding rule: `invalid_der`, `invalid_spki`, `invalid_point`, `invalid_jwk`, `invalid_signature`, `unsupported_key`, `weak_key`. */
export class EncodingError extends SignpostError {
  static {
    markErrorClass(this.prototype, "EncodingError");
  }

  /** Name of the class. */
  override readonly name: string = "EncodingError";
  /** Which encoding was broken. */
  declare readonly code: EncodingErrorCode;

  constructor(code: EncodingErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/**
 * Which encoding was broken. `unsupported_key` is a well-formed key of another type, curve or size; `weak_key` is an RSA key of
 * fewer than 2048 bits.
 */
export type EncodingErrorCode =
  | "invalid_der"
  | "invalid_spki"
  | "invalid_point"
  | "invalid_jwk"
  | "invalid_signature"
  | "unsupported_key"
  | "weak_key";

/** What a `VerifyError` may be made with. */
export interface VerifyErrorOptions extends ErrorOptions {
  /** Whether the same call may succeed later. Default false. */
  readonly transient?: boolean | undefined;
}

/**
 * A token or key set that was refused. `transient` tells the two kinds apart: `false` is about the token (a gateway answers
 * 401), `true` about something that could not be asked (503).
 */
export class VerifyError extends SignpostError {
  static {
    markErrorClass(this.prototype, "VerifyError");
  }

  /** Name of the class. */
  override readonly name: string = "VerifyError";
  /** Whether the same call may succeed later: the network, another party's answer or a store is at fault, not the token. */
  readonly transient: boolean;

  constructor(code: string, message: string, options?: VerifyErrorOptions) {
    super(code, message, options);
    this.transient = options?.transient === true;
  }
}
