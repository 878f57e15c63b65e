import { ConfigurationError, SignerError, type SignerErrorCode } from "@signpost/core";

/** An error as plain data, for another process. */
export interface WireError {
  readonly argument: string | undefined;
  readonly code: string;
  readonly transient: boolean;
  readonly message: string;
}

/** An error for the other process. What is no error of ours is told without its message. */
export function toWire(error: unknown): WireError {
  if (error instanceof SignerError) {
    return { argument: undefined, code: error.code, transient: error.transient, message: error.message };
  }
  if (error instanceof ConfigurationError) {
    const { argument, code, message } = error;
    return { argument, code, transient: false, message: message.slice(argument.length + 2) };
  }
  return { argument: undefined, code: "unavailable", transient: true, message: "the child process failed" };
}

/** The error as it was in the other process, without its cause. */
export function fromWire({ argument, code, transient, message }: WireError): SignerError | ConfigurationError {
  if (argument !== undefined) return new ConfigurationError(argument, message, { code });
  return new SignerError(code as SignerErrorCode, message, { transient });
}
