import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { oauthProvider } from "@better-auth/oauth-provider";
import { createJwksEndpoint, type KeySet, type Signer } from "@signpost/core";
import { signpostJwt } from "../../src/index.ts";
import { HOST } from "./host.ts";
import { MODELS, type ProviderApi } from "./provider.ts";

export const RESOURCE = "https://api.example";
const PASSWORD = "correct horse battery";

/** How the OP signs and publishes, which changes while its database and its issuer stay. */
export interface Deployment {
  /** Discovery lists ES256 too while the host signs with its own key. */
  readonly announces: boolean;
  /** What the endpoint publishes. Without it, the host serves its own key set. */
  readonly keys?: KeySet;
  /** The plug signs, with `keys`. */
  readonly plug?: boolean;
}

export interface Registered {
  readonly id: string;
  readonly secret: string;
}

/** An OpenID Provider on better-auth that is deployed again and again. */
export interface MovingOp {
  readonly issuer: string;
  readonly redirectUri: string;
  readonly signer: Signer;
  serve(deployment: Deployment): Promise<void>;
  register(): Promise<Registered>;
  /** The cookies of a new user. */
  signUp(name: string): Promise<string>;
  close(): Promise<void>;
}

export async function openMovingOp(signer: Signer): Promise<MovingOp> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseURL = `http://localhost:${(server.address() as AddressInfo).port}`;
  const issuer = `${baseURL}/api/auth`;
  const redirectUri = "https://rp.example/callback";
  const names = ["user", "session", "account", "verification", "jwks", ...MODELS];
  const tables = Object.fromEntries(names.map((name) => [name, []]));
  let api: ProviderApi;

  const deploy = ({ announces, keys, plug }: Deployment) => {
    const endpoint = keys && createJwksEndpoint({ issuer, keys });
    const own = HOST.jwt(announces ? { jwks: { keyPairConfigs: [{ alg: "ES256" }] } } : {});
    const { jwt, APIError } = HOST;
    const tokens = plug === true && keys && endpoint ? signpostJwt({ jwt, APIError, keys, endpoint }) : own;
    const provider = oauthProvider({
      loginPage: "/login",
      consentPage: "/consent",
      scopes: ["openid"],
      resources: [{ identifier: RESOURCE }],
      enforcePerClientResources: false,
      silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
    });
    const auth = HOST.betterAuth({
      baseURL,
      secret: "a secret of this test, which is long enough",
      database: HOST.memoryAdapter(tables),
      emailAndPassword: { enabled: true },
      telemetry: { enabled: false },
      rateLimit: { enabled: false },
      logger: { disabled: true },
      // The types of the two packages do not fit each other with exactOptionalPropertyTypes.
      plugins: [tokens, provider as never],
    });
    return { auth, endpoint };
  };

  return {
    issuer,
    redirectUri,
    signer,
    serve: async (deployment) => {
      const { auth, endpoint } = deploy(deployment);
      const respond = HOST.toNodeHandler(auth);
      server.removeAllListeners("request").on("request", (req, res) => {
        if (endpoint === undefined) void respond(req, res);
        else endpoint.middleware(req, res, () => void respond(req, res));
      });
      api = auth.api as unknown as ProviderApi;
    },
    register: async () => {
      const headers = new Headers({ cookie: await signUp(baseURL, "owner") });
      const body = { redirect_uris: [redirectUri], skip_consent: true, enable_end_session: true, scope: "openid" };
      const { client_id: id, client_secret: secret } = await api.adminCreateOAuthClient({ headers, body });
      return { id, secret };
    },
    signUp: (name) => signUp(baseURL, name),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      await signer.close();
    },
  };
}

async function signUp(baseURL: string, name: string): Promise<string> {
  const response = await fetch(`${baseURL}/api/auth/sign-up/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: baseURL },
    body: JSON.stringify({ email: `${name}@rp.example`, password: PASSWORD, name }),
  });
  if (!response.ok) throw new Error(`sign-up was refused: ${response.status}`);
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");
}
