import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { oauthProvider } from "@better-auth/oauth-provider";
import { issuer as createIssuer } from "@openauthjs/openauth";
import { MemoryStorage } from "@openauthjs/openauth/storage/memory";
import { createSubjects } from "@openauthjs/openauth/subject";
import { betterAuth, type BetterAuthPlugin } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { toNodeHandler } from "better-auth/node";
import { jwt } from "better-auth/plugins";
import { OAuth2Server } from "oauth2-mock-server";
import { expect, onTestFinished, test, vi } from "vitest";
import { runApp } from "../support/run-app.ts";

// `signpost check` against OP products that run here. The verdicts were decided by hand, from the answers and the clauses.

interface Row {
  readonly rule: string;
  readonly verdict: string;
  readonly seen: string;
}

interface Report {
  readonly jwksUrl: string;
  readonly rows: readonly Row[];
}

/** The rules that are neither `ok` nor skipped. */
async function check(url: string): Promise<{ code: number | null; jwksUrl: string; verdicts: Record<string, string> }> {
  const { code, stdout } = await runApp(["check", url, "--json"]);
  const { jwksUrl, rows } = JSON.parse(stdout) as Report;
  const told = rows.filter(({ verdict }) => verdict !== "ok" && verdict !== "skipped");
  return { code, jwksUrl, verdicts: Object.fromEntries(told.map(({ rule, verdict }) => [rule, verdict])) };
}

/** Serves what is made for an origin. */
async function serve(make: (origin: string) => RequestListener): Promise<string> {
  let listener: RequestListener = () => undefined;
  const server = createServer((request, response) => listener(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  listener = make(origin);
  return origin;
}

const TABLES = [
  "user",
  "session",
  "account",
  "verification",
  "jwks",
  "oauthClient",
  "oauthAccessToken",
  "oauthRefreshToken",
  "oauthConsent",
];

function serveBetterAuth(plugins: BetterAuthPlugin[]): Promise<string> {
  return serve((baseURL) => {
    const database = memoryAdapter(Object.fromEntries(TABLES.map((table) => [table, []])));
    const secret = "only for this test, and 32 characters long";
    const handle = toNodeHandler(betterAuth({ baseURL, secret, database, plugins, telemetry: { enabled: false } }));
    return (request, response) => void handle(request, response);
  });
}

/** The set of Better Auth, whoever announces it. */
const BETTER_AUTH = {
  // No ETag, and `*` is not read.
  etag: "should",
  "304-star": "must",
  // 404: its router knows GET only. The same for POST.
  head: "must",
  method: "should",
  // No Cache-Control.
  lifetime: "should",
  // application/json.
  "media-type": "note",
};

test("Better Auth with its jwt plugin", async () => {
  const origin = await serveBetterAuth([jwt({ jwks: { keyPairConfig: { alg: "ES256" } } })]);
  const head = await fetch(`${origin}/api/auth/jwks`, { method: "HEAD" });
  expect(head.status).toBe(404);
  await expect(check(`${origin}/api/auth/jwks`)).resolves.toMatchObject({ code: 1, verdicts: BETTER_AUTH });
});

test("Better Auth with its OAuth provider, by discovery", async () => {
  const provider = oauthProvider({
    loginPage: "/login",
    consentPage: "/consent",
    silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
  });
  const plugins = [jwt({ jwks: { keyPairConfig: { alg: "ES256" } } }), provider] as BetterAuthPlugin[];
  const origin = await serveBetterAuth(plugins);
  await expect(check(`${origin}/api/auth`)).resolves.toEqual({
    code: 1,
    jwksUrl: `${origin}/api/auth/jwks`,
    verdicts: BETTER_AUTH,
  });
});

test("OpenAuth, which has no document of OpenID Connect", async () => {
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const app = createIssuer({
    subjects: createSubjects({}),
    storage: MemoryStorage(),
    providers: {},
    success: () => Promise.resolve(new Response()),
  });
  const origin = await serve(() => (request, response) => {
    void (async () => {
      const headers = request.headers as Record<string, string>;
      const answer = await app.request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? "",
        headers,
      });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    })();
  });
  await expect(check(origin)).resolves.toEqual({
    code: 1,
    jwksUrl: `${origin}/.well-known/jwks.json`,
    verdicts: { etag: "should", "304-star": "must", lifetime: "should", "media-type": "note", method: "should" },
  });
});

test("oauth2-mock-server with an ES256 key", async () => {
  const server = new OAuth2Server();
  await server.issuer.keys.generate("ES256");
  await server.start(0, "127.0.0.1");
  onTestFinished(() => server.stop());
  const url = String(server.issuer.url);
  await expect(check(url)).resolves.toEqual({
    code: 1,
    jwksUrl: `${url}/jwks`,
    verdicts: {
      // It announces RS256, whatever its keys are.
      algorithms: "should",
      // Express: a weak one, and a charset.
      etag: "note",
      "media-type": "note",
      lifetime: "should",
      method: "should",
    },
  });
});
