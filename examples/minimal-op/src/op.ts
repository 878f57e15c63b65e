import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createJwksEndpoint, requestPath, SignerError } from "@signpost/core";
import type { ReplayStore } from "@signpost/verify";
import { type Answer, send } from "./http.ts";
import { createReadiness } from "./readiness.ts";
import { type OpenedSchedule, SIGNING_DEADLINE_MS } from "./schedule.ts";
import { type Clients, createTokenEndpoint } from "./token-endpoint.ts";
import { createUserinfo } from "./userinfo.ts";

export interface OpOptions {
  readonly issuer: string;
  /** 0 chooses a free port. */
  readonly port: number;
  readonly opened: OpenedSchedule;
  readonly tokenLifetimeSeconds: number;
  readonly clients: Clients;
  readonly replayStore: ReplayStore;
  readonly drainMs: number;
}

export interface RunningOp {
  readonly port: number;
  /** Idempotent. */
  close(): Promise<void>;
}

type Route = (request: IncomingMessage) => Promise<Answer> | Answer;

export const READY_PATH = "/ready";
export const ALIVE_PATH = "/alive";

/** For what goes on when the OP stops listening: longer than a signature may take. */
const LAST_REQUESTS_MS = SIGNING_DEADLINE_MS + 2000;

export async function startOp(options: OpOptions): Promise<RunningOp> {
  const { issuer, opened, clients, replayStore, drainMs } = options;
  const { schedule, signers } = opened;
  // An issuer may end with a slash. Then its URLs would have two.
  const root = issuer.replace(/\/$/, "");
  const audience = `${root}/userinfo`;
  const jwks = createJwksEndpoint({ issuer, keys: schedule });
  const readiness = createReadiness(schedule, signers);

  const userinfo = createUserinfo(issuer, audience, schedule);

  // All paths for clients are below the issuer's path, as the discovery document says.
  const base = new URL(issuer).pathname.replace(/\/$/, "");
  const routes: Readonly<Record<string, Route>> = {
    [`GET ${base}/.well-known/openid-configuration`]: () => ({
      status: 200,
      json: { issuer, ...jwks.metadata, ...metadata(root) },
    }),
    [`POST ${base}/token`]: createTokenEndpoint({
      issuer,
      audience,
      keys: schedule,
      lifetimeSeconds: options.tokenLifetimeSeconds,
      clients,
      replayStore,
    }),
    [`GET ${base}/userinfo`]: userinfo,
    // OpenID Connect Core 1.0 section 5.3: both methods.
    [`POST ${base}/userinfo`]: userinfo,
    [`GET ${READY_PATH}`]: async () => {
      const { ready, ...json } = await readiness.check();
      return { status: ready ? 200 : 503, json };
    },
    // Says that the process runs. It does not call the KMS, because a restart would not fix an outage.
    [`GET ${ALIVE_PATH}`]: () => ({ status: 200, json: {} }),
  };

  const server = createServer((request, response) => {
    const path = requestPath(request.url);
    if (jwks.matches(request.url)) jwks.listener(request, response);
    // Node sends no body in answer to HEAD.
    else void answer(routes[`${request.method === "HEAD" ? "GET" : request.method} ${path}`], request, response);
  });
  server.listen(options.port);
  await once(server, "listening");

  // In this order: no new requests, running requests finish, keys close. In the reverse order, tokens would fail.
  const stop = async (): Promise<void> => {
    readiness.drain();
    await pause(drainMs);
    const closed = once(server, "close");
    // A busy connection would stay open for as long as its client sends requests.
    server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
    server.close();
    server.closeIdleConnections();
    // Node does not count a connection without a request as idle, and would wait for it forever.
    setTimeout(() => server.closeAllConnections(), LAST_REQUESTS_MS).unref();
    await closed;
    await Promise.all(signers.map((signer) => signer.close()));
  };
  let stopping: Promise<void> | undefined;
  return {
    port: (server.address() as AddressInfo).port,
    close: () => (stopping ??= stop()),
  };
}

async function answer(route: Route | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (route === undefined) return send(response, { status: 404, json: { error: "not_found" } });
  try {
    send(response, await route(request));
  } catch (error) {
    const { status, json, headers } = failure(error);
    // The code is for the operator, who finds details in the events. The client only learns if it should try again.
    console.error(JSON.stringify({ level: "error", code: error instanceof SignerError ? error.code : "unknown" }));
    send(response, { status, json, headers });
  }
}

function failure(error: unknown): Answer {
  return error instanceof SignerError && error.transient
    ? { status: 503, json: { error: "temporarily_unavailable" }, headers: { "Retry-After": "2" } }
    : { status: 500, json: { error: "server_error" } };
}

/** The OP's own members of the discovery document. */
function metadata(root: string): Record<string, unknown> {
  return {
    token_endpoint: `${root}/token`,
    userinfo_endpoint: `${root}/userinfo`,
    grant_types_supported: ["client_credentials"],
    response_types_supported: [],
    subject_types_supported: ["public"],
    token_endpoint_auth_methods_supported: ["private_key_jwt"],
    token_endpoint_auth_signing_alg_values_supported: ["RS256", "PS256", "ES256", "EdDSA"],
  };
}
