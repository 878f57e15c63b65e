import { once } from "node:events";
import { createServer } from "node:http";
import { errors, ExternalSigningKey, Provider } from "oidc-provider";
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

export interface OpOptions {
  /** Default: one that no test follows. */
  readonly redirectUri?: string;
}

/**
 * A real OP whose own tokens Signpost signs, with one client that authenticates by `private_key_jwt`. Its user is always logged
 * in and consents to everything.
 */
export function startOpFor(
  clientKeys: string,
  signer: Signer,
  { redirectUri = REDIRECT_URI }: OpOptions = {},
): Promise<Served> {
  return serve((issuer) => {
    const keys = createKeySet([{ keyId: "op-1", signer }]);
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const provider = new Provider(issuer, {
      jwks: signpost.jwks,
      clientDefaults: { ...signpost.clientDefaults },
      cookies: { keys: ["only for this test"] },
      features: {
        ...signpost.features,
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        requestObjects: { enabled: true },
        pushedAuthorizationRequests: { enabled: true },
      },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
      loadExistingGrant: async ({ oidc: { client, session } }) => {
        const grant = new provider.Grant({ clientId: client?.clientId ?? "", accountId: session?.accountId ?? "" });
        grant.addOIDCScope("openid");
        await grant.save();
        return grant;
      },
      // The host refuses loopback addresses of clients. So its client has a public name, which leads to this machine here.
      fetch: (url) => fetch(new URL(new URL(url).pathname, clientKeys)),
      clients: [
        {
          client_id: "rp",
          redirect_uris: [redirectUri],
          grant_types: ["authorization_code", "client_credentials"],
          token_endpoint_auth_method: "private_key_jwt",
          token_endpoint_auth_signing_alg: "ES256",
          request_object_signing_alg: "ES256",
          jwks_uri: "https://rp.example/jwks",
        },
      ],
    });
    signpost.attach(provider, createJwksEndpoint({ issuer, keys }));
    provider.use(async (context, next) => {
      if (!context.path.startsWith("/interaction/")) return next();
      context.respond = false;
      await provider.interactionFinished(context.req, context.res, { login: { accountId: "jane" } });
    });
    const respond = provider.callback();
    return (request, response) => void respond(request, response);
  });
}

/** A browser: follows redirects from server to server, and keeps the cookies of each. */
export async function browse(first: URL): Promise<Response> {
  const cookies = new Map<string, Map<string, string>>();
  let url = first;
  for (let hops = 0; hops < 20; hops += 1) {
    const own = cookies.get(url.origin) ?? new Map<string, string>();
    cookies.set(url.origin, own);
    const cookie = [...own].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie, accept: "text/html" } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      own.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) return response;
    url = new URL(location, url);
  }
  throw new Error("too many redirects");
}

export const REDIRECT_URI = "https://rp.example/callback";
