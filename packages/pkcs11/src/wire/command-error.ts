import { ConfigurationError, SignerError } from "@signpost/core";
import type { CkrCode } from "../cryptoki/call.ts";
import { ckrRule, describeCode, isRounded, type RecoveryAction } from "../cryptoki/ckr.ts";
import {
  CKR_ARGUMENTS_BAD,
  CKR_CANT_LOCK,
  CKR_CRYPTOKI_NOT_INITIALIZED,
  CKR_LIBRARY_LOAD_FAILED,
  CKR_NEED_TO_CREATE_THREADS,
  CKR_PIN_INCORRECT,
  CKR_SESSION_COUNT,
  CKR_SLOT_ID_INVALID,
  CKR_TOKEN_NOT_PRESENT,
} from "../cryptoki/constants.ts";
import type { Failure } from "./commands.ts";
import { PinError } from "./pin-error.ts";

/** A failed command, as its thread reported it. The `cause` of the error that callers see. */
export class CommandError extends Error {
  override readonly name: string = "Pkcs11Error";
  readonly #failure: Failure;
  /** The CKR code, when it was one that a number can hold. */
  readonly code?: number;

  constructor(failure: Failure) {
    super(describe(failure));
    this.#failure = failure;
    if (failure.kind !== "cryptoki" || typeof failure.code !== "number" || isRounded(failure.code)) return;
    this.code = failure.code;
  }

  /** Not shown by loggers, which may write causes as JSON: a code may be a bigint, which JSON does not have. */
  get failure(): Failure {
    return this.#failure;
  }
}

/** A fresh start of the module came first and has handled the session. */
export class SupersededError extends Error {
  constructor() {
    super("the module is being initialized again");
  }
}

/** Whether an error that a caller sees says that other work of the module came first. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SignerError && error.cause instanceof SupersededError;
}

function describe(failure: Failure): string {
  if (failure.kind !== "cryptoki") return failure.message;
  return `${failure.call}: ${describeCode(failure.code)}`;
}

/** What brings the session back after this error. */
export function recoveryAction(error: unknown): RecoveryAction {
  if (!(error instanceof CommandError)) return "fatal";
  const { failure } = error;
  if (failure.kind === "cryptoki") return ckrRule(failure.code).action;
  if (failure.kind === "signature") return "session";
  return failure.kind === "internal" ? "repeated" : "fatal";
}

/** Other code finalized the module, or it was never initialized. */
export function isNotInitialized(error: unknown): boolean {
  return error instanceof CommandError && error.code === CKR_CRYPTOKI_NOT_INITIALIZED;
}

/** The generation of the gate in which a command failed, where it is known. */
export function failedGeneration(error: unknown): number | undefined {
  return error instanceof CommandError && error.failure.kind === "cryptoki" ? error.failure.generation : undefined;
}

/** The function of the module that failed, where it was one. */
export function failedCall(error: unknown): string | undefined {
  return error instanceof CommandError && error.failure.kind === "cryptoki" ? error.failure.call : undefined;
}

/** The module accepts no parameters, or not these. */
export function areParametersRefused(error: unknown): boolean {
  return error instanceof CommandError && error.code === CKR_ARGUMENTS_BAD && failedCall(error) === "C_Initialize";
}

/** The token allows no more sessions now. */
export function isSessionCount(error: unknown): boolean {
  return error instanceof CommandError && error.code === CKR_SESSION_COUNT;
}

/** The slot does not hold the token. */
export function isTokenAway(error: unknown): boolean {
  return error instanceof CommandError && (error.code === CKR_TOKEN_NOT_PRESENT || error.code === CKR_SLOT_ID_INVALID);
}

/** The token has refused this very PIN. It counts such tries. */
export function isPinIncorrect(error: unknown): boolean {
  return error instanceof CommandError && error.code === CKR_PIN_INCORRECT;
}

/** An error about the PIN after which no PIN is tried. */
export type PinRefusal = SignerError & { readonly code: "pin_incorrect" | "pin_locked" };

/** The token takes no PIN, or would lock if one more were wrong: none is tried, whichever it is. */
export function isPinRefusal(error: unknown): error is PinRefusal {
  if (!(error instanceof SignerError) || error instanceof PinError) return false;
  return error.code === "pin_incorrect" || error.code === "pin_locked";
}

/** Codes of C_Initialize for a module that can never run here. */
const UNUSABLE: ReadonlySet<CkrCode> = new Set([CKR_NEED_TO_CREATE_THREADS, CKR_CANT_LOCK, CKR_LIBRARY_LOAD_FAILED]);

function cryptokiError(call: string, code: CkrCode, cause: CommandError): SignerError | ConfigurationError {
  const { message } = cause;
  const unusable = (expected: string): ConfigurationError =>
    new ConfigurationError("module", `expected a module that ${expected}: ${message}`, { cause });
  if (call === "C_GetFunctionList") return unusable("returns its functions");
  if (call === "C_Initialize" && UNUSABLE.has(code)) return unusable("runs with threads in this process");
  return new SignerError(ckrRule(code).signerCode, message, { cause });
}

/** The typed error that a caller sees. */
export function toPublicError(error: unknown): SignerError | ConfigurationError {
  if (error instanceof SignerError || error instanceof ConfigurationError) return error;
  if (error instanceof SupersededError) return new SignerError("unavailable", error.message, { cause: error });
  if (!(error instanceof CommandError))
    return new SignerError("unavailable", "the PKCS#11 thread failed", { cause: error });
  const { failure, message } = error;
  switch (failure.kind) {
    case "cryptoki":
      return cryptokiError(failure.call, failure.code, error);
    case "key":
      return new SignerError(failure.code, message, { cause: error });
    case "module":
      return new ConfigurationError("module", `expected the path of a PKCS#11 library: ${message}`, { cause: error });
    case "binding":
      return new ConfigurationError("pkcs11js", message, { cause: error, code: "missing_dependency" });
    case "signature":
      return new SignerError("integrity", message, { cause: error });
    case "internal":
      return new SignerError("unavailable", message, { cause: error });
  }
}
