import { beforeEach, describe, expect, test, vi } from "vitest";
import { planOpening } from "@signpost/core/adapter";
import type { ApiRequest, HttpAnswer } from "../src/exchange.ts";
import { createHttpApi, type HttpApi } from "../src/http-api.ts";
import type { Requester } from "../src/requester.ts";
import { parseVault } from "../src/vault.ts";

// The requests of each call, and what follows a refused token, without a network.

interface Sent {
  readonly request: ApiRequest;
  readonly token: string | undefined;
}
const network = vi.hoisted(() => ({
  sent: [] as Sent[],
  answers: [] as Partial<HttpAnswer>[],
  isClosed: false,
}));
vi.mock("../src/requester.ts", () => ({
  createRequester: async (): Promise<Requester> => ({
    send: async (request, token) => {
      network.sent.push({ request, token });
      return { status: 200, headers: {}, json: {}, ...network.answers.shift() };
    },
    close: async () => void (network.isClosed = true),
  }),
}));
beforeEach(() => {
  network.sent.length = 0;
  network.answers.length = 0;
  network.isClosed = false;
});

const { signal } = new AbortController();
const VERSION = "0123456789abcdef0123456789abcdef";
const refused = (challenge: string): Partial<HttpAnswer> => ({
  status: 401,
  headers: { "www-authenticate": challenge },
});
const CHALLENGE = 'Bearer authorization="https://login.microsoftonline.com/tenant", resource="https://vault.example"';

/** The calls of a vault, whose tokens have numbers, and what each was asked for. */
async function opened(
  host = "https://op.vault.azure.net",
  scope?: string,
): Promise<HttpApi & { readonly asked: readonly unknown[] }> {
  const asked: unknown[] = [];
  const credential = async (asked_: string, options: object): Promise<string> => {
    asked.push([asked_, { ...options, abortSignal: undefined }]);
    return `token-${asked.length}`;
  };
  const settings = { credential, scope, apiVersion: "7.4", tls: {}, dispatcher: undefined, api: undefined };
  return { ...(await createHttpApi(parseVault("vault", host), settings, planOpening({}))), asked };
}
const tokens = (): readonly (string | undefined)[] => network.sent.map(({ token }) => token);

test("each call has its method, path and body", async () => {
  const { api } = await opened();
  await api.getKey({ key: "op" }, { signal });
  await api.getKey({ key: "op", keyVersion: VERSION }, { signal });
  await api.sign({ key: "op", keyVersion: VERSION, alg: "ES256", value: "digest" }, { signal });
  await api.listKeyVersions({ key: "op" }, { signal });
  await api.listKeyVersions({ key: "op", nextLink: "https://elsewhere/keys/op/versions?skip=1#x" }, {});
  expect(network.sent.map(({ request }) => request)).toEqual([
    { method: "GET", path: "/keys/op?api-version=7.4" },
    { method: "GET", path: `/keys/op/${VERSION}?api-version=7.4` },
    {
      method: "POST",
      path: `/keys/op/${VERSION}/sign?api-version=7.4`,
      body: { alg: "ES256", value: "digest" },
    },
    { method: "GET", path: "/keys/op/versions?api-version=7.4&maxresults=25" },
    { method: "GET", path: "/keys/op/versions?skip=1" },
  ]);
  expect(new Set(tokens())).toEqual(new Set(["token-1"]));
});

test.each([
  [199, false],
  [200, true],
  [299, true],
  [300, false],
  [404, false],
])("an answer with the status %i is a result: %s", async (status, isResult) => {
  const { api } = await opened();
  network.answers.push({ status, json: { error: { code: "KeyNotFound", message: "x" } } });
  const result: unknown = await api.getKey({ key: "op" }, { signal }).catch((error: unknown) => error);
  if (isResult) return expect(result).toEqual({ error: { code: "KeyNotFound", message: "x" } });
  return expect(result).toMatchObject({ statusCode: status, code: "KeyNotFound" });
});

describe("a token that is refused", () => {
  test("is replaced once in a call, for the same scope", async () => {
    const { api, asked } = await opened();
    network.answers.push(refused("Bearer"), {});
    await api.getKey({ key: "op" }, { signal });
    expect(tokens()).toEqual(["token-1", "token-2"]);
    network.answers.push(refused("Bearer"), refused("Bearer"));
    // It was accepted, so that it is replaced at once.
    await expect(api.getKey({ key: "op" }, { signal })).rejects.toMatchObject({ statusCode: 401 });
    expect(tokens()).toEqual(["token-1", "token-2", "token-2", "token-3"]);
    const scope = "https://vault.azure.net/.default";
    expect(asked).toEqual([1, 2, 3].map(() => [scope, { enableCae: true, abortSignal: undefined }]));
  });

  test("for what it lacks is replaced by one with the claims, after another replacement too", async () => {
    const { api, asked } = await opened();
    const claims = Buffer.from("{}").toString("base64");
    const lacking = refused(`Bearer error="insufficient_claims", claims="${claims}"`);
    network.answers.push(refused("Bearer"), lacking, {});
    await api.getKey({ key: "op" }, { signal });
    expect(tokens()).toEqual(["token-1", "token-2", "token-3"]);
    expect(asked.at(-1)).toMatchObject(["https://vault.azure.net/.default", { claims: "{}" }]);
  });

  test("for another tenant is replaced by one of that tenant", async () => {
    const { api, asked } = await opened();
    network.answers.push(refused('Bearer authorization="https://login.microsoftonline.com/other"'), {});
    await api.getKey({ key: "op" }, { signal });
    expect(tokens()).toEqual(["token-1", "token-2"]);
    expect(asked.at(-1)).toMatchObject(["https://vault.azure.net/.default", { tenantId: "other" }]);
    await api.getKey({ key: "op" }, { signal });
    expect(tokens().at(-1)).toBe("token-2");
  });
});

describe("a host that is no vault of Azure", () => {
  test("gets no token before it has named its resource, and then the same in later calls", async () => {
    const { api, asked } = await opened("https://op.vault.example");
    network.answers.push(refused(CHALLENGE), {}, {});
    await api.getKey({ key: "op" }, { signal });
    await api.getKey({ key: "op" }, { signal });
    expect(tokens()).toEqual([undefined, "token-1", "token-1"]);
    expect(asked).toMatchObject([["https://vault.example/.default", { tenantId: "tenant" }]]);
  });

  test("that needs none gets none", async () => {
    const { api, asked } = await opened("https://op.vault.example");
    await api.getKey({ key: "op" }, { signal });
    expect([tokens(), asked]).toEqual([[undefined], []]);
  });

  test("that names no resource is refused, with what to do", async () => {
    const { api } = await opened("https://op.vault.example");
    network.answers.push(refused("Bearer"));
    await expect(api.getKey({ key: "op" }, { signal })).rejects.toMatchObject({
      code: "access_denied",
      message: "op.vault.example asks for a token, but does not say for which resource: set scope",
    });
  });

  test("gets a token for the given scope at once, whatever it names", async () => {
    const { api, asked } = await opened("https://op.vault.example", "https://vault.azure.net/.default");
    network.answers.push(refused(CHALLENGE), {});
    await api.getKey({ key: "op" }, { signal });
    expect(tokens()).toEqual(["token-1", "token-2"]);
    expect(asked).toMatchObject([
      ["https://vault.azure.net/.default", {}],
      ["https://vault.azure.net/.default", { tenantId: "tenant" }],
    ]);
  });
});

test("a call that was aborted while it waited for its token sends nothing", async () => {
  const { api } = await opened();
  await expect(api.getKey({ key: "op" }, { signal: AbortSignal.abort(new Error("gone")) })).rejects.toBeDefined();
  expect(network.sent).toEqual([]);
});

test("closing closes the connections, and tells the credential", async () => {
  let given: AbortSignal | undefined;
  const credential = async (_scope: string, { abortSignal }: { abortSignal?: AbortSignal | undefined }) => {
    given = abortSignal;
    return new Promise<never>(() => undefined);
  };
  const settings = { credential, scope: undefined, apiVersion: "7.4", tls: {}, dispatcher: undefined, api: undefined };
  const vault = parseVault("vault", "https://op.vault.azure.net");
  const { api, close } = await createHttpApi(vault, settings, planOpening({}));
  const call = api.getKey({ key: "op" }, { signal });
  await Promise.resolve();
  await close();
  await expect(call).rejects.toMatchObject({ code: "closed" });
  expect([given?.aborted, network.isClosed]).toEqual([true, true]);
});
