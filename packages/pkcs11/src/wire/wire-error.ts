import { ConfigurationError, SignerError, type SignerErrorCode } from "@signpost/core";
import { PinError, type PinErrorReason } from "./pin-error.ts";

/** An error as plain data, for another process. */
export interface WireError {
  readonly argument: string | undefined;
  readonly code: string;
  readonly transient: boolean;
  readonly message: string;
  /** For a wrong PIN. */
  readonly pin?: PinErrorReason | undefined;
}

/** An error for the other process. The message of an unknown error is left out. */
export function toWire(error: unknown): WireError {
  if (error instanceof SignerError) {
    const { code, transient, message } = error;
    return { argument: undefined, code, transient, message, pin: error instanceof PinError ? error.reason : undefined };
  }
  if (error instanceof ConfigurationError) {
    const { argument, code, message } = error;
    return { argument, code, transient: false, message: message.slice(argument.length + 2) };
  }
  return { argument: undefined, code: "unavailable", transient: true, message: "the child process failed" };
}

/** The error as it was in the other process, without its cause. */
export function fromWire({ argument, code, transient, message, pin }: WireError): SignerError | ConfigurationError {
  if (argument !== undefined) return new ConfigurationError(argument, message, { code });
  if (pin !== undefined) return new PinError(pin, message);
  return new SignerError(code as SignerErrorCode, message, { transient });
}
