import { once } from "node:events";
import { createServer } from "node:http";
import { type Configuration, errors, ExternalSigningKey, Provider } from "oidc-provider";
import { createJwksEndpoint, createKeySet, type JwksEndpoint, type Signer } from "@signpost/core";
import { signpostKeys } from "@signpost/oidc-provider";

/** A server that is closed at the end of its test. */
export interface Served {
  readonly url: string;
  close(): void;
}

export async function serve(listener: (url: string) => Parameters<typeof createServer>[1]): Promise<Served> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  server.on("request", listener(url) as () => void);
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The key set of a client, at the URL that it registers as `jwks_uri`. */
export function serveClientKeys(endpointAt: (url: string) => JwksEndpoint): Promise<Served> {
  return serve((url) => endpointAt(url).listener);
}

/** A real OP whose own tokens Signpost signs, with one client that authenticates by `private_key_jwt`. */
export function startOpFor(clientKeys: string, signer: Signer, configuration: Configuration = {}): Promise<Served> {
  return serve((issuer) => {
    const keys = createKeySet([{ keyId: "op-1", signer }]);
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const provider = new Provider(issuer, {
      ...configuration,
      jwks: signpost.jwks,
      clientDefaults: { ...signpost.clientDefaults },
      features: {
        ...signpost.features,
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        requestObjects: { enabled: true },
        pushedAuthorizationRequests: { enabled: true },
        ...configuration.features,
      },
      // The host refuses loopback addresses of clients. So its client has a public name, which leads to this machine here.
      fetch: (url) => fetch(new URL(new URL(url).pathname, clientKeys)),
      clients: [
        {
          client_id: "rp",
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "client_credentials"],
          token_endpoint_auth_method: "private_key_jwt",
          token_endpoint_auth_signing_alg: "ES256",
          request_object_signing_alg: "ES256",
          jwks_uri: "https://rp.example/jwks",
        },
      ],
    });
    signpost.attach(provider, createJwksEndpoint({ issuer, keys }));
    return provider.callback();
  });
}

export const REDIRECT_URI = "https://rp.example/callback";
