import type { IncomingHttpHeaders } from "node:http";
import {
  createJwksEndpoint,
  type JwksEndpoint,
  type JwksEndpointOptions,
  type KeySetSource,
  type RotationSchedule,
  signJwt,
} from "@signpost/core";
import { type LoopbackServer, startLoopbackServer } from "./loopback-server.ts";

export const ISSUER = "https://op.example";

/** One process of an OP that is replicated, with what it was asked. */
export interface Replica {
  readonly port: number;
  readonly requests: readonly { readonly method: string; readonly headers: IncomingHttpHeaders }[];
  /** Closes every connection without an answer from now on, as a crashed process would. */
  crash(): void;
  recover(): void;
}

export interface Replicas extends AsyncDisposable {
  readonly all: readonly Replica[];
  readonly ports: readonly number[];
  /** Requests to all of them so far. */
  requests(): number;
}

/** Each listens on a separate loopback port and serves the endpoint at its index. */
export async function startReplicas(endpoints: readonly JwksEndpoint[]): Promise<Replicas> {
  const started = await Promise.all(endpoints.map(startReplica));
  const all = started.map(({ replica }) => replica);
  return {
    all,
    ports: all.map(({ port }) => port),
    requests: () => all.reduce((sum, { requests }) => sum + requests.length, 0),
    [Symbol.asyncDispose]: async () => {
      for (const { server } of started) await server.close();
    },
  };
}

export function endpointWith(options: Omit<JwksEndpointOptions, "issuer">): JwksEndpoint {
  return createJwksEndpoint({ issuer: ISSUER, ...options });
}

export function endpointOf(schedule: RotationSchedule): JwksEndpoint {
  return endpointWith({ keys: schedule });
}

/** A token of five minutes by the clock of the test. */
export function signToken(keys: KeySetSource, time: number, lifetimeSeconds = 300): Promise<string> {
  const iat = Math.floor(time / 1000);
  return signJwt(keys, { iss: ISSUER, sub: "248289", aud: "rp", exp: iat + lifetimeSeconds }, { iat });
}

async function startReplica(endpoint: JwksEndpoint): Promise<{ replica: Replica; server: LoopbackServer }> {
  const requests: { method: string; headers: IncomingHttpHeaders }[] = [];
  let crashed = false;
  const server = await startLoopbackServer((req, res) => {
    if (crashed) {
      req.socket.destroy();
      return;
    }
    requests.push({ method: req.method ?? "", headers: req.headers });
    if (endpoint.matches(req.url)) endpoint.listener(req, res);
    else res.writeHead(404).end();
  });
  const replica: Replica = {
    port: server.port,
    requests,
    crash: () => {
      crashed = true;
      server.endConnections();
    },
    recover: () => {
      crashed = false;
    },
  };
  return { replica, server };
}
