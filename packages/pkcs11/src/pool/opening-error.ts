import { ConfigurationError, SignerError } from "@signpost/core";
import { configurationHint } from "../request/configuration-hint.ts";
import type { TokenRequest } from "../request/key-request.ts";
import { areParametersRefused, failedCall, toPublicError } from "../wire/command-error.ts";

/** A module that cannot be initialized, or returns no functions, usually does not find its configuration. */
export function openingError(
  error: unknown,
  { module, libraryParameters }: TokenRequest,
): SignerError | ConfigurationError {
  const told = toPublicError(error);
  const call = failedCall(error);
  if (libraryParameters !== undefined && areParametersRefused(error)) {
    const expected = `expected no parameters, or text that this module accepts: ${told.message}`;
    return new ConfigurationError("libraryParameters", expected, { cause: told.cause });
  }
  const hint = configurationHint(module);
  if (hint === undefined || (call !== "C_Initialize" && call !== "C_GetFunctionList")) return told;
  const { cause } = told;
  if (told instanceof SignerError) return new SignerError(told.code, `${told.message}. ${hint}`, { cause });
  // A module's missing features do not depend on its configuration.
  if (call === "C_Initialize") return told;
  return new ConfigurationError(told.argument, `${told.message.slice(told.argument.length + 2)}. ${hint}`, { cause });
}
