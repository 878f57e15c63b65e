import * as client from "openid-client";
import { oauthProvider } from "@better-auth/oauth-provider";
import type { KeySet } from "@signpost/core";
import { type App, HOST, startApp } from "./host.ts";

const REDIRECT_URI = "https://rp.example/callback";
const LOGOUT = {
  backchannel_logout_uri: "https://rp.example/logout",
  backchannel_logout_session_required: true,
};
/** The tables of the provider. */
export const MODELS: readonly string[] = [
  "oauthClient",
  "oauthResource",
  "oauthClientResource",
  "oauthRefreshToken",
  "oauthAccessToken",
  "oauthConsent",
  "oauthClientAssertion",
];

type Row = Record<string, unknown>;

/** The API of the provider that tests use. */
export interface ProviderApi {
  adminCreateOAuthClient(call: {
    body: object;
    headers: Headers;
  }): Promise<{ client_id: string; client_secret: string }>;
  adminCreateOAuthResource(call: { body: object; headers: Headers }): Promise<unknown>;
  adminUpdateOAuthResource(call: { body: object; headers: Headers; params: object }): Promise<unknown>;
  oauth2EndSession(call: { body?: object; query?: object; headers: Headers }): Promise<unknown>;
}

type Tokens = client.TokenEndpointResponse & { readonly id_token?: string };

/** An authorization code, with what the client needs to use it. */
export interface Code {
  readonly callback: URL;
  readonly pkceCodeVerifier: string;
}

/** An OpenID Provider with one client, and openid-client as that client. */
export interface Provider {
  readonly app: App;
  readonly api: ProviderApi;
  readonly config: client.Configuration;
  /** The rows of the database, by table. */
  readonly tables: Record<string, Row[]>;
  /** The cookies of the user who made the client. */
  readonly cookie: string;
  /** The client gets a code for the user with these cookies. */
  authorize(cookie: string, resource?: string): Promise<Code>;
  exchange(code: Code): Promise<Tokens>;
  /** Both. The resource is not named again with the code. */
  login(cookie: string, resource?: string): Promise<Tokens>;
  close(): Promise<void>;
}

export interface ProviderOptions {
  readonly keys: () => KeySet;
  readonly resources?: readonly string[];
  readonly disableJwtPlugin?: boolean;
}

export async function startProvider({ keys, resources, disableJwtPlugin }: ProviderOptions): Promise<Provider> {
  const tables: Record<string, Row[]> = {};
  const options = {
    loginPage: "/login",
    consentPage: "/consent",
    scopes: ["openid", "offline_access"],
    resources: (resources ?? []).map((identifier) => ({ identifier })),
    enforcePerClientResources: false,
    disableJwtPlugin: disableJwtPlugin ?? false,
    silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
  };
  // The types of the two packages do not fit each other with exactOptionalPropertyTypes.
  const app = await startApp(HOST, { keys, tables, models: MODELS, plugins: [oauthProvider(options) as never] });
  const api = app.auth.api as unknown as ProviderApi;
  const cookie = await app.signUp();
  const { client_id: id, client_secret: secret } = await api.adminCreateOAuthClient({
    headers: new Headers({ cookie }),
    body: {
      redirect_uris: [REDIRECT_URI],
      skip_consent: true,
      enable_end_session: true,
      ...(disableJwtPlugin === true ? {} : LOGOUT),
      grant_types: ["authorization_code", "refresh_token"],
      scope: "openid offline_access",
    },
  });
  const config = await client.discovery(
    // Without the options of `jwt()`, the provider is its own issuer.
    new URL(disableJwtPlugin === true ? `${app.url}/api/auth` : app.url),
    id,
    { id_token_signed_response_alg: disableJwtPlugin === true ? "HS256" : "ES256" },
    client.ClientSecretBasic(secret),
    { execute: [client.allowInsecureRequests] },
  );

  async function authorize(user: string, resource?: string): Promise<Code> {
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT_URI,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      scope: "openid offline_access",
      state: "s",
      ...(resource === undefined ? {} : { resource }),
    });
    const response = await app.request(url.href, { headers: { cookie: user } });
    if (!response.ok) throw new Error(`the authorization request was refused: ${response.status}`);
    // The host sends a redirect to a browser, and this to a program.
    const { url: location } = (await response.json()) as { url: string };
    return { callback: new URL(location), pkceCodeVerifier };
  }
  const exchange = async ({ callback, pkceCodeVerifier }: Code): Promise<Tokens> =>
    client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState: "s" });
  const login = async (user: string, resource?: string): Promise<Tokens> => exchange(await authorize(user, resource));

  return { app, api, config, tables, cookie, authorize, exchange, login, close: () => app.close() };
}
