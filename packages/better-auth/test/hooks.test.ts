import { describe, expect, test } from "vitest";
import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import type { Call, CallHook, HostContext } from "../src/host.ts";
import { hintHook } from "../src/logout-hints.ts";
import { changedResourceHook, requestedResourceHook, requireSignableResources } from "../src/oauth-provider.ts";
import { requestHook, spendingHook } from "../src/serving.ts";

// Which calls of the host each hook takes, and what it reads of them.

type Query = Parameters<HostContext["adapter"]["findOne"]>[0];

/** A host with a provider of these options, and a database that keeps what it was asked. */
function hostWith(options: object | undefined, rows: Readonly<Record<string, object>> = {}) {
  const asked: Query[] = [];
  const context: HostContext = {
    baseURL: "https://op.example/api/auth",
    logger: { error: () => undefined },
    adapter: {
      findOne: async (query) => {
        asked.push(query);
        return rows[query.where[0]?.value ?? ""] ?? null;
      },
    },
    options: { plugins: options === undefined ? [] : [{ id: "oauth-provider", options }] },
  };
  return { context, asked };
}

const never = (error: unknown): never => {
  throw error;
};
const endpoint: Pick<JwksEndpoint, "respond"> = { respond: () => ({ status: 503, headers: {}, body: null }) };
const HOOKS: readonly (readonly [what: string, hook: CallHook, paths: readonly string[]])[] = [
  ["a hint", hintHook(endpoint), ["/oauth2/end-session"]],
  [
    "a resource that changes",
    changedResourceHook(),
    ["/admin/oauth2/resources", "/admin/oauth2/resources/:identifier"],
  ],
  ["a resource that is asked for", requestedResourceHook(never), ["/oauth2/authorize", "/oauth2/token"]],
  ["a code that is spent", spendingHook(async () => undefined), ["/oauth2/token"]],
];
const PATHS = [...new Set(HOOKS.flatMap(([, , paths]) => paths)), "/sign-in/email", "", undefined];

describe.each(HOOKS)("the hook for %s", (_what, { matcher }, paths) => {
  const taken = (options: object | undefined): readonly unknown[] =>
    PATHS.filter((path) => matcher({ path, context: hostWith(options).context }));

  test("takes its own paths, and no others", () => {
    expect(taken({})).toEqual(PATHS.filter((path) => paths.includes(path ?? "")));
  });

  test("takes none of a host whose provider does not sign with the key", () => {
    expect(taken(undefined)).toEqual([]);
    expect(taken({ disableJwtPlugin: true })).toEqual([]);
  });
});

describe("the resources of a request", () => {
  const pinned = { identifier: "https://rsa.example", signingAlgorithm: "RS256" };
  const rows = { "https://rsa.example": pinned };
  const ask = async (call: Pick<Call, "body" | "query">, options: object = {}): Promise<readonly Query[]> => {
    const { context, asked } = hostWith(options, rows);
    await requestedResourceHook(never).handler({ ...call, context });
    return asked;
  };

  test.each([
    ["the query", { query: { resource: "https://rsa.example" } }],
    ["the body", { body: { resource: "https://rsa.example" } }],
    ["a list", { body: { resource: ["https://api.example", "https://rsa.example"] } }],
    ["the body, which counts more", { query: { resource: "https://a" }, body: { resource: "https://rsa.example" } }],
  ])("are in %s", async (_what, call) => {
    await expect(ask(call)).rejects.toMatchObject({ name: "ConfigurationError", argument: "signingAlgorithm" });
  });

  test.each([
    ["nothing", {}],
    ["what is no text", { body: { resource: [7, null, { a: 1 }] } }],
  ])("that are %s are asked for nowhere", async (_what, call) => {
    expect(await ask(call)).toEqual([]);
  });

  test("are asked for once each, by their identifier, in the table of the provider", async () => {
    const body = { resource: ["https://a", "https://b", "https://a"] };
    const query = (model: string, value: string): Query => ({ model, where: [{ field: "identifier", value }] });
    expect(await ask({ body })).toEqual([query("oauthResource", "https://a"), query("oauthResource", "https://b")]);
    const schema = { oauthResource: { modelName: "api" } };
    expect(await ask({ body }, { schema })).toEqual([query("api", "https://a"), query("api", "https://b")]);
    expect(await ask({ body }, { schema: { oauthResource: {} } })).toHaveLength(2);
  });

  test("are at most 20", async () => {
    const resource = Array.from({ length: 30 }, (_, index) => `https://${index}.example`);
    const asked = await ask({ body: { resource } });
    expect(asked.map(({ where }) => where[0]?.value)).toEqual(resource.slice(0, 20));
  });

  test("that cannot be looked up end the call with the error of the database", async () => {
    const { context } = hostWith({});
    const failing = { ...context, adapter: { findOne: () => Promise.reject(new Error("no database")) } };
    const told: unknown[] = [];
    const hook = requestedResourceHook((error) => never(told.push(error)));
    await expect(hook.handler({ body: { resource: "https://a" }, context: failing })).rejects.toThrow("no database");
    expect(told).toEqual([]);
  });
});

describe("a resource that is changed", () => {
  const change = (call: Pick<Call, "body" | "params">) =>
    changedResourceHook().handler({ ...call, context: hostWith({}).context });

  test("is named by the body, or by the path", async () => {
    const body = { identifier: "https://new.example", signingKeyId: "sig" };
    await expect(change({ body })).rejects.toThrow('signingKeyId: the resource "https://new.example"');
    const params = { identifier: "https://old.example" };
    await expect(change({ params, body: { signingAlgorithm: "EdDSA" } })).rejects.toThrow(
      'signingAlgorithm: the resource "https://old.example" of oauthProvider: expected "ES256", the only algorithm of Signpost, got "EdDSA"',
    );
  });

  test("without an algorithm and a key is taken as it is", async () => {
    expect(await change({ body: undefined })).toBeUndefined();
  });
});

test.each([undefined, "https://api.example", [undefined, null, {}]])(
  "the resources %j ask for nothing",
  (resources) => {
    expect(() => requireSignableResources({ resources })).not.toThrow();
  },
);

describe("a logout", () => {
  const hint = "e30.eyJhdWQiOiJhIn0.AA";
  const call = (given: Pick<Call, "body" | "query">) =>
    hintHook(endpoint).handler({ ...given, context: hostWith({}).context });

  test("without a hint, or with one that is no text, is left as it is", async () => {
    for (const query of [undefined, null, {}, { id_token_hint: 7 }]) {
      expect(await call({ query, body: query })).toBeUndefined();
    }
  });

  test("has a hint that verifies nowhere replaced where it is, with its payload", async () => {
    const unreadable = { id_token_hint: ".eyJhdWQiOiJhIn0." };
    const context = (members: object) => ({ response: { context: members } });
    expect(await call({ query: { id_token_hint: hint } })).toEqual(context({ query: unreadable }));
    expect(await call({ body: { id_token_hint: hint } })).toEqual(context({ body: unreadable }));
    expect(await call({ body: { id_token_hint: "text" } })).toEqual(context({ body: { id_token_hint: ".." } }));
  });
});

test("a code is spent only after the key signs, and the call stays as it is", async () => {
  let tries = 0;
  const hook = spendingHook(async () => {
    tries += 1;
    if (tries === 2) throw new ConfigurationError("endpoint", "refused");
  });
  const call = { context: hostWith({}).context };
  expect(await hook.handler(call)).toBeUndefined();
  await expect(hook.handler(call)).rejects.toThrow("endpoint: refused");
});

describe("a request to the host", () => {
  const served = {
    ...endpoint,
    matches: (target: string) => target.split("?", 1)[0] === "/api/auth/keys",
    fetch: () => new Response("keys"),
  } as unknown as JwksEndpoint;
  const answer = async (path: string, advanced: object = {}, servesEndpoint = true): Promise<unknown> => {
    const { context } = hostWith({});
    const request = new Request(`https://op.example${path}`);
    const hook = requestHook({ endpoint: served, servesEndpoint });
    const answered = await hook(request, { ...context, options: { ...context.options, advanced } });
    return answered === undefined ? undefined : [answered.response.status, await answered.response.text()];
  };
  const skips = { skipTrailingSlashes: true };

  test.each([
    ["/api/auth/keys", {}, [200, "keys"]],
    ["/api/auth/keys?a=b", {}, [200, "keys"]],
    ["/api/auth/keys/", {}, undefined],
    ["/api/auth/keys/", { skipTrailingSlashes: false }, undefined],
    ["/api/auth/keys/", skips, [200, "keys"]],
    ["/api/auth/jwks", {}, [404, ""]],
    ["/api/auth/jwks/", {}, undefined],
    ["/api/auth/jwks/", skips, [404, ""]],
    ["/api/auth/other", skips, undefined],
    ["/jwks", {}, undefined],
  ])("for %s with %j is answered with %j", async (path, advanced, expected) => {
    expect(await answer(path, advanced)).toEqual(expected);
  });

  test("is the host's business alone if something else serves the endpoint", async () => {
    expect(await answer("/api/auth/keys", {}, false)).toBeUndefined();
    expect(await answer("/api/auth/jwks", {}, false)).toBeUndefined();
  });
});
