import { SignerError } from "@signpost/core";
import { safeCause, type CauseRules } from "@signpost/core/adapter";
import { rowOfAnswer, rowOfError, type Row } from "./error-table.ts";
import type { HttpAnswer } from "./exchange.ts";

/** Describes a call for its message: `sign with transit/keys/op version 3 at https://vault.example:8200`. */
export interface CallTarget {
  readonly action: string;
  readonly address: string;
  readonly namespace?: string | undefined;
}

export function describeCall({ action, address, namespace }: CallTarget): string {
  return `${action} at ${address}${namespace === undefined ? "" : ` in the namespace ${namespace}`}`;
}

// Tokens of Vault and OpenBao, and JWTs. A proxy may repeat the request.
const SECRETS = /\b(?:hv[sbr]|[sbr])\.[\w-]{8}|\beyJ|x-vault-token|secret_id|client_token/i;
const CAUSE: CauseRules = { members: ["code", "syscall"], hides: (_error, message) => SECRETS.test(message) };

/** The longest message of a server that is shown. */
const MAX_MESSAGE = 512;

/** The error for an answer that is not a success. Its cause is the server's message. */
export function errorOfAnswer(answer: HttpAnswer, target: CallTarget, row: Row = rowOfAnswer(answer)): SignerError {
  const message = answer.errors
    .map((text) => text.trim())
    .join("; ")
    .slice(0, MAX_MESSAGE);
  const status = `HTTP status ${answer.status}`;
  const isHidden = message === "" || answer.repeatsSecrets || SECRETS.test(message);
  const shown = isHidden ? status : `${status}: ${message}`;
  return signerError(row, target, new Error(shown));
}

/** The error for a request that was not answered. `secrets`: what was sent. */
export function errorOfRequest(error: unknown, target: CallTarget, secrets: readonly string[]): SignerError {
  if (error instanceof SignerError) return error;
  return signerError(rowOfError(error), target, safeCause(error, { ...CAUSE, secrets }));
}

function signerError({ code, text, transient }: Row, target: CallTarget, cause: unknown): SignerError {
  return new SignerError(code, `cannot ${describeCall(target)}: ${text}`, { cause, transient });
}
