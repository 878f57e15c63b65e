import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { JSONWebKeySet } from "jose";
import { type Configuration, errors, ExternalSigningKey, type KoaContextWithOIDC, Provider } from "oidc-provider";
import { createJwksEndpoint, type JwksEndpoint } from "@signpost/core";
import { type AttachOptions, signpostKeys, type SignpostKeysOptions } from "@signpost/oidc-provider";

export const REDIRECT_URI = "https://rp.example/callback";
export const RESOURCE = "urn:example:api";
export const ACCOUNT = "248289";

type Keys = SignpostKeysOptions<ExternalSigningKey>["keys"];

export interface Op {
  readonly issuer: string;
  readonly provider: Provider;
  readonly server: Server;
  /** What the operator sees: the host's error events. */
  readonly failures: readonly { event: string; error: Error }[];
  close(): void;
}

export interface OpOptions {
  readonly keys: Keys;
  /** Default: the schedule's own, where `keys` is one. */
  readonly jwksRotationActive?: () => boolean;
  readonly configuration?: Configuration;
  readonly verifyingKeys?: number;
  readonly onError?: (error: Error) => void;
  /** Where a server in the style of Connect or Express has the provider, which then sees the rest of the path alone. */
  readonly mountPath?: string;
  /** The OP's own, behind the plug. */
  readonly middleware?: (context: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>;
  /** Default: the endpoint of the same keys. */
  readonly endpoint?: (issuer: string) => JwksEndpoint;
  readonly attach?: AttachOptions;
  /** Private JWKs that the host signs with itself, behind the plug's. */
  readonly hostKeys?: readonly object[];
  /** Which of the plug's parts the OP has taken. Default both; without the plug the host is alone with its keys. */
  readonly takes?: { readonly plug: boolean; readonly clientDefaults: boolean };
  /** Takes the place of another OP, at its issuer. */
  readonly after?: Op | undefined;
}

const ERROR_EVENTS = [
  "server_error",
  "grant.error",
  "authorization.error",
  "userinfo.error",
  "introspection.error",
  "backchannel.error",
] as const;

/** A real Provider on a free loopback port, whose end-user is always logged in and consents to everything. */
export async function startOp(options: OpOptions): Promise<Op> {
  const { keys, jwksRotationActive, configuration = {}, verifyingKeys, onError, mountPath = "" } = options;
  const { takes = { plug: true, clientDefaults: true }, hostKeys = [] } = options;
  const server = options.after?.server.removeAllListeners("request") ?? createServer().listen(0, "127.0.0.1");
  if (!server.listening) await once(server, "listening");
  const address = server.address();
  const issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}${mountPath}`;

  const signpost = signpostKeys({ ExternalSigningKey, errors, keys, verifyingKeys, onError });
  const provider = new Provider(issuer, {
    ...configuration,
    jwks: { keys: [...(takes.plug ? signpost.jwks.keys : []), ...(hostKeys as never[])] },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: () => true } as never,
      jwtIntrospection: { enabled: true },
      jwtResponseModes: { enabled: true },
      jwtUserinfo: { enabled: true },
      backchannelLogout: { enabled: true },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "api",
          audience: RESOURCE,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
      ...signpost.features,
      ...configuration.features,
    },
    clientDefaults: { ...(takes.clientDefaults ? signpost.clientDefaults : {}), ...configuration.clientDefaults },
    issueRefreshToken: (_context, client) => Promise.resolve(client.grantTypeAllowed("refresh_token")),
    // The host's own dispatcher refuses loopback, where the relying party of a test is.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as never),
    cookies: { keys: ["only for this test"] },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    loadExistingGrant: async (context) => {
      const { client, session } = context.oidc;
      const grant = new provider.Grant({ clientId: client?.clientId ?? "", accountId: session?.accountId ?? "" });
      grant.addOIDCScope("openid offline_access");
      grant.addResourceScope(RESOURCE, "api");
      await grant.save();
      return grant;
    },
  });
  const endpoint = options.endpoint?.(issuer) ?? createJwksEndpoint({ issuer, keys, jwksRotationActive });
  if (takes.plug) signpost.attach(provider, endpoint, options.attach);
  if (options.middleware !== undefined) provider.use(options.middleware);
  provider.use(async (context, next) => {
    if (!context.path.startsWith("/interaction/")) return next();
    context.respond = false;
    await provider.interactionFinished(context.req, context.res, { login: { accountId: ACCOUNT } });
  });
  const failures: { event: string; error: Error }[] = [];
  for (const event of ERROR_EVENTS) {
    provider.on(event as "server_error", (_context, error) => {
      failures.push({ event, error });
    });
  }
  const handle = provider.callback();
  server.on("request", (req, res) => {
    if (mountPath !== "") {
      Object.assign(req, { originalUrl: req.url, baseUrl: mountPath });
      req.url = req.url?.slice(mountPath.length) ?? "/";
    }
    void handle(req, res);
  });
  return {
    issuer,
    provider,
    server,
    failures,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export async function published({ issuer }: Op): Promise<JSONWebKeySet> {
  return (await (await fetch(`${issuer}/jwks`)).json()) as JSONWebKeySet;
}

/** A browser that follows the OP's redirects, cookies kept, until one leads away from the OP or a page is shown. */
export interface Browser {
  (url: URL): Promise<URL | Response>;
  post(url: URL, form: Record<string, string>): Promise<URL | Response>;
}

export function browser(issuer: string): Browser {
  const cookies = new Map<string, string>();
  const request = async (url: URL, body?: URLSearchParams): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { cookie, accept: "text/html" };
    const response = await fetch(url, { redirect: "manual", headers, ...(body && { method: "POST", body }) });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  const follow = async (first: Response): Promise<URL | Response> => {
    let response = first;
    for (let hops = 0; hops < 10; hops += 1) {
      const location = response.headers.get("location");
      if (location === null) return response;
      const next = new URL(location, issuer);
      if (next.origin !== new URL(issuer).origin) return next;
      response = await request(next);
    }
    throw new Error("too many redirects");
  };
  return Object.assign(async (url: URL) => follow(await request(url)), {
    post: async (url: URL, form: Record<string, string>) => follow(await request(url, new URLSearchParams(form))),
  });
}

/** The page that a browser ends at. */
export async function pageOf(ended: Promise<URL | Response>): Promise<string> {
  const page = await ended;
  if (!(page instanceof Response)) throw new Error(`expected a page of the OP, got ${page.href}`);
  const html = await page.text();
  if (page.status !== 200) throw new Error(`the OP answered ${page.status}: ${html}`);
  return html;
}

/** The OP's answer to a device (RFC 8628 section 3.2), as far as its user needs it. */
export interface DeviceAuthorization {
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete?: string | undefined;
}

/** The user of the device takes the code to a browser (RFC 8628 section 3.3), confirms it, and logs in there. */
export async function approveDevice({ issuer }: Op, device: DeviceAuthorization): Promise<void> {
  const browse = browser(issuer);
  const page = await pageOf(browse(new URL(device.verification_uri_complete ?? device.verification_uri)));
  const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec(page) ?? [];
  const form = { xsrf, user_code: device.user_code, confirm: "yes" };
  await pageOf(browse.post(new URL(device.verification_uri), form));
}
