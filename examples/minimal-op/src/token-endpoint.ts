import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type KeySetSource, signJwt } from "@signpost/core";
import {
  type ClientKeys,
  createClientKeySets,
  type ReplayStore,
  verifyClientAssertion,
  VerifyError,
} from "@signpost/verify";
import { type Answer, readForm } from "./http.ts";

export type Clients = Readonly<Record<string, ClientKeys>>;

export interface TokenEndpointOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly keys: KeySetSource;
  readonly lifetimeSeconds: number;
  readonly clients: Clients;
  readonly replayStore: ReplayStore;
}

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** `client_credentials` (RFC 6749 section 4.4) for clients that authenticate with `private_key_jwt`. */
export function createTokenEndpoint(options: TokenEndpointOptions): (request: IncomingMessage) => Promise<Answer> {
  const { issuer, audience, keys, lifetimeSeconds, clients, replayStore } = options;
  const keySets = createClientKeySets();
  const keysOf = (clientId: string) => {
    const registered = Object.hasOwn(clients, clientId) ? clients[clientId] : undefined;
    return registered && keySets.keysOf(clientId, registered);
  };

  return async (request) => {
    const form = await readForm(request);
    if (form === undefined) return failure(400, "invalid_request");
    if (form.get("grant_type") !== "client_credentials") return failure(400, "unsupported_grant_type");
    if (form.get("client_assertion_type") !== ASSERTION_TYPE) return failure(401, "invalid_client");

    let clientId: string;
    try {
      const assertion = form.get("client_assertion") ?? "";
      ({ clientId } = await verifyClientAssertion(assertion, {
        issuer,
        clientId: form.get("client_id"),
        keysOf,
        replayStore,
      }));
    } catch (error) {
      if (!(error instanceof VerifyError)) throw error;
      return error.transient ? failure(503, "temporarily_unavailable") : failure(401, "invalid_client");
    }

    const exp = Math.floor(Date.now() / 1000) + lifetimeSeconds;
    // RFC 9068 section 2.2: without an end user, the subject is the client.
    const claims = { iss: issuer, sub: clientId, client_id: clientId, aud: audience, jti: randomUUID(), exp };
    const accessToken = await signJwt(keys, claims, { typ: "at+jwt" });
    return { status: 200, json: { access_token: accessToken, token_type: "Bearer", expires_in: lifetimeSeconds } };
  };
}

function failure(status: number, error: string): Answer {
  return { status, json: { error } };
}
