import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import type { KMSClient } from "@aws-sdk/client-kms";
import { SIGN_CHANNEL, type SignEvent } from "@signpost/core";

/** One store for each request: `requests.run({ correlationId: randomUUID() }, () => handle(request, response))`. */
export const requests: AsyncLocalStorage<{ readonly correlationId: string }> = new AsyncLocalStorage();

type Log = (line: Readonly<Record<string, unknown>>) => void;

/** One line for each signature, with the request that it was made for. Returns a function that stops it. */
export function auditSigning(log: Log): () => void {
  const onSign = (message: unknown): void => {
    // Published inside the caller's async context, so that the store is the one of that request.
    log({ ...requests.getStore(), ...(message as SignEvent) });
  };
  subscribe(SIGN_CHANNEL, onSign);
  return () => void unsubscribe(SIGN_CHANNEL, onSign);
}

/** One line for each call of AWS KMS, failed ones included: `kmsRequestId` is `requestID` in CloudTrail. */
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
          log({ ...line, kmsRequestId: requestIdOf(error), error: error instanceof Error ? error.name : "unknown" });
          throw error;
        }
      },
    { step: "deserialize", priority: "high", name: "audit" },
  );
}

function requestIdOf(answer: unknown): string | undefined {
  return (answer as { readonly $metadata?: { readonly requestId?: string } } | undefined)?.$metadata?.requestId;
}

/** The caller's own id where it has a sane one: it is written to logs. */
export function correlationIdOf(request: IncomingMessage, otherwise: () => string): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && /^[\w-]{1,64}$/.test(given) ? given : otherwise();
}
