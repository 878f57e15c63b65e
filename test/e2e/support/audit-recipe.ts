import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import type { KMSClient } from "@aws-sdk/client-kms";
import { SIGN_CHANNEL, type SignEvent } from "@signpost/core";

/** One store for each request: `requests.run({ correlationId: randomUUID() }, () => handle(request, response))`. */
export const requests: AsyncLocalStorage<{ readonly correlationId: string }> = new AsyncLocalStorage();

type Log = (line: Readonly<Record<string, unknown>>) => void;

/** Logs one line for each signature, with its request. Returns a function that stops it. */
export function auditSigning(log: Log): () => void {
  const onSign = (message: unknown): void => {
    // Events are published in the caller's async context, so this is the store of its request.
    log({ ...requests.getStore(), ...(message as SignEvent) });
  };
  subscribe(SIGN_CHANNEL, onSign);
  return () => void unsubscribe(SIGN_CHANNEL, onSign);
}

/** Logs one line for each call to AWS KMS, failed calls included. `kmsRequestId` is `requestID` in CloudTrail. */
export function auditKms(client: KMSClient, log: Log): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const line = { ...requests.getStore(), operation: commandName };
        try {
          const result = await next(args);
          log({ ...line, kmsRequestId: requestIdOf(result.output) });
          return result;
        } catch (error) {
          log({ ...line, kmsRequestId: requestIdOf(error), error: nameOf(error) });
          throw error;
        }
      },
    { step: "deserialize", priority: "high", name: "audit" },
  );
}

// Both come from the answer. A proxy may put anything there, even the credentials that it was sent.
type Answer = { readonly $metadata?: { readonly requestId?: string } } | undefined;
function requestIdOf(answer: unknown): string | undefined {
  const id = (answer as Answer)?.$metadata?.requestId;
  return id !== undefined && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id) ? id : undefined;
}
function nameOf(error: unknown): string {
  return error instanceof Error && /^\w{0,60}(?:Exception|Error)$/.test(error.name) ? error.name : "unknown";
}

/** The id that the caller sent, if it is safe to write to a log. Otherwise a new one. */
export function correlationIdOf(request: IncomingMessage, otherwise: () => string): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && /^[\w-]{1,64}$/.test(given) ? given : otherwise();
}
