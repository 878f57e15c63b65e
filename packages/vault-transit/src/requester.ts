import { SignerError } from "@signpost/core";
import { endedError, readInstant, type OpeningPlan } from "@signpost/core/adapter";
import type { ApiRequest } from "./api.ts";
import type { Settings } from "./client.ts";
import { errorOfRequest, describeCall, type CallTarget } from "./errors.ts";
import { exchange, secretsOf, type HttpAnswer } from "./exchange.ts";
import { createOwnDispatcher, type OwnDispatcher } from "./own-dispatcher.ts";

/** Sends requests to one server. */
export interface Requester {
  /** Scheme, host and port. */
  readonly address: string;
  /** Namespace of the requests that name no other. */
  readonly namespace: string | undefined;
  /** Makes one attempt. Resolves with any answer of the server, and rejects with `SignerError` if there is none. */
  send(target: CallTarget, request: ApiRequest, token: string | undefined, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes the dispatcher if the adapter made it. */
  close(): Promise<void>;
}

/** Uses the caller's dispatcher, or makes one. */
export async function createRequester(settings: Settings, plan: OpeningPlan): Promise<Requester> {
  const { address, origins, namespace } = settings;
  const own = settings.dispatcher === undefined ? await createOwnDispatcher(settings.tls, plan) : undefined;
  const dispatcher = settings.dispatcher ?? requireOne(own);
  const place = { dispatcher, origin: address.url, origins, namespace };
  return {
    address: address.url,
    namespace,
    send: async (target, request, token, signal) => {
      const startedAt = readInstant();
      try {
        return await exchange(place, request, token, signal);
      } catch (error) {
        own?.failed(error, startedAt, signal);
        // A client reports an abort in many ways.
        if (signal.aborted) throw endedError(signal.reason);
        if (!(error instanceof SignerError)) throw errorOfRequest(error, target, secretsOf(request, token));
        const message = `cannot ${describeCall(target)}: ${error.message}`;
        throw new SignerError(error.code, message, { cause: error.cause, transient: error.transient });
      }
    },
    close: async () => own?.close(),
  };
}

function requireOne(own: OwnDispatcher | undefined): OwnDispatcher {
  if (own === undefined) throw new TypeError("expected a dispatcher");
  return own;
}
