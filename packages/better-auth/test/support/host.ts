import { createServer, type Server } from "node:http";
import { once } from "node:events";
import * as newest from "better-auth-1.7.25";
import * as newestApi from "better-auth-1.7.25/api";
import * as newestMemory from "better-auth-1.7.25/adapters/memory";
import * as newestNode from "better-auth-1.7.25/node";
import * as newestPlugins from "better-auth-1.7.25/plugins";
import * as oldest from "better-auth-1.7.0";
import * as oldestApi from "better-auth-1.7.0/api";
import * as oldestMemory from "better-auth-1.7.0/adapters/memory";
import * as oldestNode from "better-auth-1.7.0/node";
import * as oldestPlugins from "better-auth-1.7.0/plugins";
import { betterAuth } from "better-auth";
import { APIError } from "better-auth/api";
import { memoryAdapter } from "better-auth/adapters/memory";
import { toNodeHandler } from "better-auth/node";
import { jwt } from "better-auth/plugins";
import { createJwksEndpoint, type JwksEndpoint, type KeySet, type RotationSchedule } from "@signpost/core";
import { signpostJwt } from "../../src/index.ts";

/** One release of the host. */
export interface Host {
  readonly version: string;
  readonly betterAuth: typeof betterAuth;
  readonly APIError: typeof APIError;
  readonly memoryAdapter: typeof memoryAdapter;
  readonly toNodeHandler: typeof toNodeHandler;
  readonly jwt: typeof jwt;
}

/** The release that `@better-auth/oauth-provider` is made for. */
export const HOST: Host = { version: "1.7.5", betterAuth, APIError, memoryAdapter, toNodeHandler, jwt };

/** The oldest and the newest release that the plug is for. Their types differ from those of 1.7.5 in what no test uses. */
export const HOSTS: readonly Host[] = [
  { version: "1.7.0", ...oldest, ...oldestApi, ...oldestMemory, ...oldestNode, ...oldestPlugins } as unknown as Host,
  { version: "1.7.25", ...newest, ...newestApi, ...newestMemory, ...newestNode, ...newestPlugins } as unknown as Host,
];

type Auth = ReturnType<typeof betterAuth>;
type AuthOptions = Parameters<typeof betterAuth>[0];

/** A running app with its users in memory. */
export interface App {
  readonly url: string;
  readonly endpoint: JwksEndpoint;
  readonly auth: Auth & { readonly api: JwtApi };
  /** What `onError` got. */
  readonly problems: unknown[];
  /** A request of a browser with these cookies. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Signs a user up. Returns the cookies of the session. */
  signUp(email?: string): Promise<string>;
  close(): Promise<void>;
}

interface JwtApi {
  signJWT(call: { body: { payload: object; overrideOptions?: object } }): Promise<{ token: string }>;
  verifyJWT(call: { body: { token: string } }): Promise<{ payload: Record<string, unknown> | null }>;
  getJwks(): Promise<{ keys: Record<string, unknown>[] }>;
}

export interface AppOptions {
  readonly keys: KeySet | RotationSchedule | (() => KeySet);
  readonly jwt?: Parameters<typeof jwt>[0];
  readonly plugins?: NonNullable<AuthOptions["plugins"]>;
  readonly advanced?: NonNullable<AuthOptions["advanced"]>;
  readonly models?: readonly string[];
  readonly tables?: Record<string, Record<string, unknown>[]>;
}

export async function startApp(host: Host, options: AppOptions): Promise<App> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://localhost:${typeof address === "object" ? address?.port : ""}`;
  const problems: unknown[] = [];
  const endpoint = createJwksEndpoint({ issuer: url, mountPrefix: "/api/auth", keys: options.keys });
  const tables = options.tables ?? {};
  for (const name of ["user", "session", "account", "verification", "jwks", ...(options.models ?? [])])
    tables[name] ??= [];
  const auth = host.betterAuth({
    baseURL: url,
    secret: "a secret of this test, which is long enough",
    database: host.memoryAdapter(tables),
    emailAndPassword: { enabled: true },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    logger: { disabled: true },
    advanced: options.advanced ?? {},
    plugins: [
      signpostJwt({
        jwt: host.jwt,
        APIError: host.APIError,
        keys: options.keys,
        endpoint,
        options: options.jwt,
        onError: (problem) => void problems.push(problem),
      }),
      ...(options.plugins ?? []),
    ],
  }) as unknown as App["auth"];
  const respond = host.toNodeHandler(auth);
  server.on("request", (req, res) => void respond(req, res));
  const request = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(path.startsWith("http") ? path : `${url}${path}`, { redirect: "manual", ...init });
  return {
    url,
    endpoint,
    auth,
    problems,
    request,
    signUp: async (email = "ada@rp.example") => {
      const response = await request("/api/auth/sign-up/email", {
        method: "POST",
        headers: { "content-type": "application/json", origin: url },
        body: JSON.stringify({ email, password: "correct horse battery", name: "Ada" }),
      });
      if (!response.ok) throw new Error(`sign-up was refused: ${response.status} ${await response.text()}`);
      return response.headers
        .getSetCookie()
        .map((cookie) => cookie.split(";")[0])
        .join("; ");
    },
    close: () => closed(server),
  };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
