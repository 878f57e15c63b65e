import { ConfigurationError } from "@signpost/core";

/**
 * A module takes its parameters once, in C_Initialize. One that was initialized with others shows what those lead to: tokens of
 * the same name, perhaps, with keys of the same label.
 */
export function otherParametersError(): ConfigurationError {
  return new ConfigurationError(
    "libraryParameters",
    "expected the same as of the signers that are open on this module: it takes them once, when it is initialized. Close " +
      "those first, or give a copy of the library at another path as the module",
  );
}
