import { BindingError, ModuleError } from "../cryptoki/binding.ts";
import { CryptokiError } from "../cryptoki/call.ts";
import type { Failure } from "../wire/commands.ts";

type KeySearchCode = Extract<Failure, { kind: "key" }>["code"];

/** The search for the key has a negative result. */
export class KeySearchError extends Error {
  readonly code: KeySearchCode;
  /** The search ran without a login. */
  readonly withoutLogin: boolean;

  constructor(code: KeySearchCode, message: string, withoutLogin = false) {
    super(message);
    this.code = code;
    this.withoutLogin = withoutLogin;
  }
}

/** Other threads did not leave the module in time. */
export class BusyError extends Error {}

/** The output of C_Sign is not a P-256 signature. */
export class SignatureError extends Error {}

/** Plain data for the other thread. Leaves out messages of unknown errors, which might repeat an argument. */
export function toFailure(error: unknown): Failure {
  if (error instanceof CryptokiError) {
    const { call, code, generation } = error;
    return { kind: "cryptoki", call, code, generation };
  }
  if (error instanceof KeySearchError) {
    const { code, message, withoutLogin } = error;
    return { kind: "key", code, message, withoutLogin };
  }
  if (error instanceof ModuleError) return { kind: "module", message: error.message };
  if (error instanceof BindingError) return { kind: "binding", message: error.message };
  if (error instanceof SignatureError) return { kind: "signature", message: error.message };
  return { kind: "internal", message: error instanceof Error ? error.name : "unknown error" };
}
