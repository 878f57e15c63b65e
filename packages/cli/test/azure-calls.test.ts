import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  azureKeyName,
  azureRefusal,
  coveringScope,
  isManagedHsm,
  openAzureCalls,
} from "../src/backends/azure-key-vault.ts";
import type { RestAnswer, RestRequest } from "../src/backends/rest.ts";
import { recordingContext } from "./support/recording-context.ts";

// Calls of Azure Key Vault and their tokens, with a server that answers from a list.

const server = vi.hoisted(() => ({
  opened: [] as unknown[][],
  requests: [] as RestRequest[],
  answers: [] as Partial<RestAnswer>[],
  closed: 0,
}));

vi.mock("../src/backends/rest.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/rest.ts")>()),
  openRest: async (...given: unknown[]) => {
    server.opened.push(given);
    return {
      send: async (request: RestRequest) => {
        server.requests.push(request);
        return { status: 200, headers: {}, json: {}, ...server.answers.shift() };
      },
      close: () => void (server.closed += 1),
    };
  },
}));

beforeEach(() => {
  server.opened.length = 0;
  server.requests.length = 0;
  server.answers.length = 0;
  server.closed = 0;
});

const HOST = "op.vault.azure.net";
const CONTEXT = recordingContext("/work");

interface Credential {
  readonly scopes: unknown[][];
  readonly options: object;
}

/** A credential whose tokens are `t1`, `t2` and so on. */
function credentialOf(answer: (count: number) => unknown = (count) => ({ token: `t${count}` })): Credential {
  const scopes: unknown[][] = [];
  const credential = async (...given: unknown[]): Promise<unknown> => {
    scopes.push(given);
    return answer(scopes.length);
  };
  return { scopes, options: { credential } };
}

async function opened(host: string, options: object) {
  const calls = await openAzureCalls(host, { ...options }, CONTEXT);
  if (calls === undefined) throw new Error("there is no credential");
  return calls;
}

const sent = (): readonly unknown[] =>
  server.requests.map(({ method, path, headers, body }) => [method, path, headers["authorization"], body]);

describe("calls", () => {
  test("have the version of the API, a token for their domain, and ten seconds", async () => {
    const limits: number[] = [];
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      limits.push(ms);
      return new AbortController().signal;
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const { scopes, options } = credentialOf();
    const calls = await opened(HOST, { ...options, tls: { caFile: "ca.pem", serverName: "name", certFile: "x" } });
    await calls.send("GET", "/keys/op");
    await calls.send("POST", "/keys?maxresults=1", { a: 1 });
    await calls.sendBare("POST", "/keys/op/sign", { b: 2 });
    expect(server.opened).toEqual([[`https://${HOST}`, { caFile: "ca.pem", serverName: "name" }, "/work"]]);
    expect(sent()).toEqual([
      ["GET", "/keys/op?api-version=2025-07-01", "Bearer t1", undefined],
      ["POST", "/keys?maxresults=1&api-version=2025-07-01", "Bearer t1", { a: 1 }],
      ["POST", "/keys/op/sign?api-version=2025-07-01", "Bearer t1", { b: 2 }],
    ]);
    expect(scopes).toEqual([["https://vault.azure.net/.default", { enableCae: false }]]);
    expect(limits).toEqual([10_000, 10_000]);
    expect(server.requests.map(({ signal }) => signal !== undefined)).toEqual([true, true, false]);
    calls.close();
    expect(server.closed).toBe(1);
  });

  test("end with the command", async () => {
    const leaving = new AbortController();
    const { options } = credentialOf();
    const calls = await openAzureCalls(HOST, { ...options }, { ...CONTEXT, signal: leaving.signal });
    await calls?.send("GET", "/keys/op");
    leaving.abort();
    expect(server.requests[0]?.signal?.aborted).toBe(true);
  });

  test("have the version of the options", async () => {
    await (await opened(HOST, { ...credentialOf().options, apiVersion: "7.4" })).send("GET", "/keys");
    await (await opened(HOST, { ...credentialOf().options, apiVersion: 7 })).send("GET", "/keys");
    expect(server.requests.map(({ path }) => path)).toEqual(["/keys?api-version=7.4", "/keys?api-version=2025-07-01"]);
  });

  test("are made once more with another token after a 401, and only then", async () => {
    const calls = await opened(HOST, credentialOf().options);
    server.answers.push({ status: 401 }, { status: 401 }, { status: 403 });
    expect(await calls.send("GET", "/keys")).toMatchObject({ status: 401 });
    expect(await calls.send("GET", "/keys")).toMatchObject({ status: 403 });
    server.answers.push({ status: 401 });
    expect(await calls.sendBare("GET", "/keys")).toMatchObject({ status: 401 });
    expect(server.requests.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer t1",
      "Bearer t2",
      "Bearer t2",
      "Bearer t2",
    ]);
  });
});

describe("a token", () => {
  test.each<[what: string, left: number, tokens: readonly string[]]>([
    ["that lasts a minute is used again", 60_000, ["t1", "t1"]],
    ["that ends within a minute is replaced", 59_999, ["t1", "t2"]],
  ])("%s", async (_what, left, tokens) => {
    vi.spyOn(Date, "now").mockReturnValue(1_000_000);
    onTestFinished(() => void vi.restoreAllMocks());
    const { options } = credentialOf((count) => ({ token: `t${count}`, expiresOnTimestamp: 1_000_000 + left }));
    const calls = await opened(HOST, options);
    for (const _token of tokens) await calls.send("GET", "/keys");
    expect(server.requests.map(({ headers }) => headers["authorization"])).toEqual(
      tokens.map((token) => `Bearer ${token}`),
    );
  });

  test("is asked for once by calls at the same time, and again after a failure", async () => {
    const { scopes, options } = credentialOf((count) => (count === 1 ? Promise.reject(new Error("secret")) : "text"));
    const calls = await opened(HOST, options);
    const failed = { code: "credentials", message: "The credential failed", exitCode: 3 };
    await Promise.all([1, 2].map(() => expect(calls.send("GET", "/keys")).rejects.toMatchObject(failed)));
    expect(scopes).toHaveLength(1);
    await calls.send("GET", "/keys");
    expect(sent()).toEqual([["GET", "/keys?api-version=2025-07-01", "Bearer text", undefined]]);
  });

  test("may come from an object", async () => {
    const credential = {
      name: "t",
      async getToken(this: { name: string }) {
        return { token: this.name };
      },
    };
    await (await opened(HOST, { credential })).send("GET", "/keys");
    expect(server.requests[0]?.headers["authorization"]).toBe("Bearer t");
    expect(await openAzureCalls(HOST, { credential: {} }, CONTEXT)).toBeUndefined();
  });

  test.each([[{}], [null], [{ token: 7 }]])("is none in %j", async (answer) => {
    const calls = await opened(HOST, credentialOf(() => answer).options);
    await expect(calls.send("GET", "/keys")).rejects.toMatchObject({
      code: "credentials",
      message: "The credential gave no token",
      exitCode: 3,
    });
  });

  const jwt = (payload: unknown): string => `h.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.s`;
  test.each<[token: string, claims: object]>([
    [jwt({ scp: "user" }), { scp: "user" }],
    ["opaque", {}],
    ["a.b.c", {}],
    [jwt(null), {}],
  ])("%s has the claims %j", async (token, claims) => {
    const calls = await opened(HOST, credentialOf(() => token).options);
    expect(await calls.tokenClaims()).toEqual(claims);
  });
});

describe("the scope", () => {
  const RESOURCE = 'Bearer authorization="https://login", resource="https://op.example"';

  test.each([
    [HOST, {}, "https://vault.azure.net/.default"],
    ["OP.MANAGEDHSM.AZURE.NET", {}, "https://managedhsm.azure.net/.default"],
    ["op.vault.azure.cn", {}, "https://vault.azure.cn/.default"],
    ["op.vault.usgovcloudapi.net", {}, "https://vault.usgovcloudapi.net/.default"],
    [HOST, { scope: "own" }, "own"],
  ])("of %s with %j is %s, and is not asked for", async (host, more, scope) => {
    const { scopes, options } = credentialOf();
    await (await opened(host, { ...options, ...more })).send("GET", "/keys/op");
    expect(scopes[0]?.[0]).toBe(scope);
    expect(server.requests).toHaveLength(1);
  });

  test("of another host is what its server asks for", async () => {
    server.answers.push({ status: 401, headers: { "www-authenticate": RESOURCE } });
    const { scopes, options } = credentialOf();
    await (await opened("op.example", options)).send("GET", "/keys/op");
    expect(scopes[0]?.[0]).toBe("https://op.example/.default");
    expect(sent()).toEqual([
      ["GET", "/keys?api-version=2025-07-01", undefined, undefined],
      ["GET", "/keys/op?api-version=2025-07-01", "Bearer t1", undefined],
    ]);
  });

  test("of a host that asks for none is an error", async () => {
    const { scopes, options } = credentialOf();
    await expect((await opened("op.example", options)).send("GET", "/keys/op")).rejects.toMatchObject({
      exitCode: 3,
      code: "credentials",
      message: "op.example does not ask for a token for its resource",
      hint: "Name the vault by its own host, or set scope in the options of the adapter",
    });
    expect(scopes).toEqual([]);
  });

  test.each<[header: string | undefined, host: string, scope: string | undefined]>([
    [RESOURCE, "op.example:8443", "https://op.example/.default"],
    ['Bearer scope="https://op.example/.default"', "op.example", "https://op.example/.default"],
    ['Bearer resource="https://op.example/"', "op.example", "https://op.example/.default"],
    ['Bearer resource="https://op.example/a"', "op.example", "https://op.example/a/.default"],
    ['Bearer resource="https://example.org"', "op.example.org", "https://example.org/.default"],
    ['Bearer resource="https://example.org"', "example.org.evil", undefined],
    ['Bearer resource="https://example.org"', "badexample.org", undefined],
    ['Bearer resource="https://org"', "op.org", undefined],
    ['Bearer resource="https://0.0.1"', "127.0.0.1", undefined],
    ['Bearer resource="https://127.0.0.1:9"', "127.0.0.1", "https://127.0.0.1:9/.default"],
    ['Bearer resource="https://[::1]"', "[::1]", "https://[::1]/.default"],
    ['Bearer resource="http://op.example"', "op.example", undefined],
    ['Bearer resource="xhttps://op.example"', "op.example", undefined],
    ['Bearer resource="https://op.example?a"', "op.example", undefined],
    ['Bearer resource="https://u@op.example"', "op.example", undefined],
    ['Bearer resource="https://op.example:99999"', "op.example", undefined],
    ['Bearer noresource="https://op.example"', "op.example", undefined],
    ["Bearer", "op.example", undefined],
    [undefined, "op.example", undefined],
  ])("in %s for %s is %s", (header, host, scope) => {
    expect(coveringScope(header, host)).toBe(scope);
  });
});

test.each<[uri: string, name: unknown]>([
  ["azurekms:///h/keys/k", { host: "h", key: "k", version: undefined }],
  ["AZUREKMS:///h:1/keys/k/v", { host: "h:1", key: "k", version: "v" }],
  ["azurekms://h/keys/k/v", { host: "h", key: "k", version: "v" }],
  ["azurekms://h/k", { host: "h", key: "k", version: undefined }],
  ["azurekms://h/k/v", { host: "h", key: "k", version: "v" }],
  ["azurekms:///h/k", undefined],
  ["azurekms:///h/keys/k/v/x", undefined],
  ["azurekms:///h/keys/k?x", undefined],
  ["xazurekms:///h/keys/k", undefined],
  ["xazurekms://h/k", undefined],
])("the URI %s has the parts %j", (uri, name) => {
  expect(azureKeyName(uri)).toEqual(name);
});

test.each([
  ["op.managedhsm.azure.net", true],
  ["OP.ManagedHSM.azure.net:443", true],
  ["op.vault.azure.net", false],
  ["op.managedhsm.azure.net.evil", false],
  ["managedhsm.azure.net", false],
])("%s is a Managed HSM: %s", (host, isHsm) => {
  expect(isManagedHsm(host)).toBe(isHsm);
});

test.each<[json: unknown, words: string]>([
  [undefined, "403"],
  [{ error: { code: "Forbidden" } }, "403 Forbidden"],
  [{ error: { code: "Forbidden", innererror: { code: "ForbiddenByRbac" } } }, "403 Forbidden ForbiddenByRbac"],
  [{ error: { code: 7, innererror: { code: "two words" } } }, "403"],
  [{ error: { code: "a".repeat(60) } }, `403 ${"a".repeat(60)}`],
  [{ error: { code: "a".repeat(61) } }, "403"],
  [{ error: { code: "-a" } }, "403"],
  [{ error: { code: "a-" } }, "403"],
])("a refusal with %j is %s", (json, words) => {
  expect(azureRefusal({ status: 403, headers: {}, json })).toBe(words);
});
