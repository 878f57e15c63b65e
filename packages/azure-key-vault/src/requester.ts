import { SignerError } from "@signpost/core";
import { endedError, readInstant, type OpeningPlan } from "@signpost/core/adapter";
import type { Settings } from "./client.ts";
import { exchange, type ApiRequest, type HttpAnswer } from "./exchange.ts";
import { createOwnDispatcher } from "./own-dispatcher.ts";
import type { Vault } from "./vault.ts";

/** Sends requests to one vault. */
export interface Requester {
  /** Makes one attempt. Resolves with any answer, and rejects if there is none. */
  send(request: ApiRequest, token: string | undefined, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes the dispatcher if the adapter made it. */
  close(): Promise<void>;
}

/** Uses the caller's dispatcher, or makes one. */
export async function createRequester(
  { url }: Vault,
  { dispatcher, tls }: Pick<Settings, "dispatcher" | "tls">,
  plan: OpeningPlan,
): Promise<Requester> {
  if (dispatcher !== undefined) {
    return {
      send: (request, token, signal) => exchange(dispatcher, url, request, token, signal),
      close: async () => {},
    };
  }
  const own = await createOwnDispatcher(tls, plan);
  return {
    send: async (request, token, signal) => {
      const startedAt = readInstant();
      try {
        return await exchange(own, url, request, token, signal);
      } catch (error) {
        own.failed(error, startedAt, signal);
        // A client reports an abort in many ways.
        if (signal.aborted && !(error instanceof SignerError)) throw endedError(signal.reason);
        throw error;
      }
    },
    close: () => own.close(),
  };
}
