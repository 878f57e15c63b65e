import { ConfigurationError } from "@signpost/core";

/**
 * A module takes its parameters once, in C_Initialize. One that was initialized with others shows what those lead to: tokens of
 * the same name, perhaps, with keys of the same label.
 */
export function otherParametersError(): ConfigurationError {
  return new ConfigurationError(
    "libraryParameters",
    "expected the same text as the open signers of this module, which reads it only once, in C_Initialize. Close " +
      "those signers first, or use a copy of the library at another path as the module",
  );
}
