import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type Configuration, errors, ExternalSigningKey, Provider } from "oidc-provider";
import { createJwksEndpoint, type RotationSchedule } from "@signpost/core";
import { signpostKeys } from "@signpost/oidc-provider";

/** A Provider whose tokens are signed with the keys of a schedule. The rest of its configuration does not change. */
export function createProvider(issuer: string, schedule: RotationSchedule, configuration: Configuration): Provider {
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys: schedule });
  const provider = new Provider(issuer, {
    ...configuration,
    jwks: signpost.jwks,
    features: { ...configuration.features, ...signpost.features },
    clientDefaults: { ...configuration.clientDefaults, ...signpost.clientDefaults },
  });
  signpost.attach(provider, createJwksEndpoint({ issuer, keys: schedule }));
  return provider;
}

export interface RunningOp {
  readonly provider: Provider;
  readonly issuer: string;
  close(): Promise<void>;
}

export interface OpOptions {
  /** Default: the address where it listens, which is only for development. */
  readonly issuer?: string | undefined;
  readonly port: number;
  readonly schedule: RotationSchedule;
  readonly configuration: Configuration;
}

export async function startOp({ issuer: given, port, schedule, configuration }: OpOptions): Promise<RunningOp> {
  const server = createServer().listen(port);
  await once(server, "listening");
  const issuer = given ?? `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = createProvider(issuer, schedule, configuration);
  const respond = provider.callback();
  server.on("request", (request, response) => void respond(request, response));
  return {
    provider,
    issuer,
    // The code that opened the signers closes them after this.
    close: async () => {
      const closed = once(server, "close");
      // A busy connection would stay open for as long as its client sends requests.
      server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
      server.close();
      server.closeIdleConnections();
      // Node does not count a connection without a request as idle, and would wait for it forever.
      setTimeout(() => server.closeAllConnections(), 5000).unref();
      await closed;
    },
  };
}
