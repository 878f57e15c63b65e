import { ConfigurationError, SignerError } from "@signpost/core";
import { memberOf, safeCause, type CauseRules } from "@signpost/core/adapter";
import { rowOfError } from "./error-table.ts";
import { idOf } from "./exchange.ts";
import type { Vault } from "./vault.ts";

/** Describes a call for its message: `sign with op/VERSION at https://op.vault.azure.net`. */
export function describeCall(action: string, { url }: Vault): string {
  return `${action} at ${url}`;
}

// The service's message can name tenants, callers, addresses and other vaults.
const OF_SERVICE: CauseRules = { members: [], hides: () => true };
const OF_CLIENT: CauseRules = {
  members: ["code", "syscall"],
  hides: (_error, message) => /\beyJ|\bBearer\b|authorization/i.test(message),
};

/** The error for a call that failed. */
export function signerErrorFrom(error: unknown, call: string): SignerError {
  if (error instanceof SignerError) {
    const message = error.message.startsWith(call) ? error.message : `cannot ${call}: ${error.message}`;
    return new SignerError(error.code, message, { cause: error.cause, transient: error.transient });
  }
  if (error instanceof ConfigurationError) {
    return new SignerError("invalid_argument", `cannot ${call}: ${error.message}`, { cause: error });
  }
  const { code, text, transient } = rowOfError(error);
  return new SignerError(code, `cannot ${call}: ${text}`, { cause: causeOf(error), transient });
}

/** For the service: its status, and the name of the call, which Microsoft's support asks for. */
function causeOf(error: unknown): unknown {
  const status = memberOf(error, "statusCode");
  if (typeof status !== "number") return safeCause(error, OF_CLIENT);
  // Another transport may have taken it from anywhere.
  const requestId = idOf(memberOf(error, "requestId"));
  const id = requestId === undefined ? "" : `, x-ms-request-id ${requestId}`;
  return new Error(`HTTP status ${status}${id}`, { cause: safeCause(memberOf(error, "cause"), OF_SERVICE) });
}
