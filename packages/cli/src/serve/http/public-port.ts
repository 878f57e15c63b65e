import type { IncomingMessage, ServerResponse } from "node:http";
import { requestPath } from "@signpost/core";
import type { Serving } from "../live/serving.ts";
import type { ServerState } from "../state.ts";
import { NOT_FOUND, plain, readOnly, send, type Answer } from "./answers.ts";
import { countWhenDone } from "./count.ts";

/** Below the path of the key set, so that a proxy that passes that path on needs no second rule, and no route of the OP is hidden. */
export const DISCOVERY = "/discovery";

const NOT_READY = plain(503, "Not ready", { "Retry-After": "5" });

/** The port of the key set: the document, the discovery fragment, and nothing else. */
export function answerPublic(state: ServerState, request: IncomingMessage, response: ServerResponse): void {
  const count = (route: string): void => countWhenDone(state.counters, { port: "public", route }, request, response);
  const serving = state.live.serving();
  const path = requestPath(request.url);
  if (path !== undefined && path === (serving?.endpoint.pathname ?? state.pathname)) {
    count("jwks");
    if (serving === undefined) return send(request, response, NOT_READY);
    return serving.endpoint.listener(request, response);
  }
  if (path !== undefined && path === `${serving?.endpoint.pathname ?? state.pathname}${DISCOVERY}`) {
    count("discovery");
    const { method } = request;
    return send(
      request,
      response,
      serving === undefined ? NOT_READY : readOnly(method, () => discoveryFragment(serving)),
    );
  }
  count("other");
  send(request, response, NOT_FOUND);
}

/**
 * The members of the OP's discovery document that follow from the key set (OpenID Connect Discovery 1.0 section 3). A legacy key is
 * published as long as its algorithm is in that document.
 */
function discoveryFragment({ endpoint, loaded: { config } }: Serving): Answer {
  const legacy = (config.legacyVerificationKeys ?? []).map(({ alg }) => alg);
  const { id_token_signing_alg_values_supported: own } = endpoint.metadata;
  const fragment = {
    issuer: config.issuer,
    ...endpoint.metadata,
    id_token_signing_alg_values_supported: [...new Set([...own, ...legacy])],
  };
  return { status: 200, type: "application/json", text: JSON.stringify(fragment) };
}
