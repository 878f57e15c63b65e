import type { Failure } from "../wire/commands.ts";
import { BindingError, ModuleError } from "../cryptoki/binding.ts";

type KeyCode = Extract<Failure, { kind: "key" }>["code"];

/** The search for the key is answered, and the answer is no. */
export class KeyError extends Error {
  readonly code: KeyCode;

  constructor(code: KeyCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Other threads did not leave the module in time. */
export class BusyError extends Error {}

/** What came back from C_Sign is no P-256 signature. */
export class SignatureError extends Error {}

/** A CKR code, with the function that returned it. */
export class CryptokiError extends Error {
  readonly call: string;
  readonly code: number;

  constructor(call: string, code: number) {
    super(`${call}: ${code}`);
    this.call = call;
    this.code = code;
  }
}

/**
 * Runs one Cryptoki function. pkcs11js throws errors of several classes, some with the CKR code only in
 * the message (`CKR_SESSION_HANDLE_INVALID:179`): the number is the only thing that is the same everywhere.
 */
export function cryptoki<Result>(call: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new CryptokiError(call, code);
  }
}

/** The CKR code, or undefined when `run` succeeded. Other errors pass. */
export function codeFrom(run: () => unknown): number | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    const code = error instanceof CryptokiError ? error.code : codeOf(error);
    if (code === undefined) throw error;
    return code;
  }
}

function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = "code" in error ? error.code : undefined;
  if (typeof code === "number" && code !== 0) return code;
  const match = /^CKR_\w+:(\d+)/.exec(error.message);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** Plain data for the other thread. Messages of unknown errors stay out: they might repeat an argument. */
export function toFailure(error: unknown): Failure {
  if (error instanceof CryptokiError) {
    return { kind: "cryptoki", call: error.call, code: error.code };
  }
  if (error instanceof KeyError) return { kind: "key", code: error.code, message: error.message };
  if (error instanceof ModuleError) return { kind: "module", message: error.message };
  if (error instanceof BindingError) return { kind: "binding", message: error.message };
  if (error instanceof SignatureError) return { kind: "signature", message: error.message };
  return { kind: "internal", message: error instanceof Error ? error.name : "unknown error" };
}
