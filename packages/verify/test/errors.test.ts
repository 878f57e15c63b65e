import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import * as core from "@signpost/core";
import {
  ConfigurationError,
  createMemoryReplayStore,
  createRedisReplayStore,
  createRemoteKeySet,
  createStaticKeySet,
  discoverKeySet,
  KeySetError,
  TokenError,
  verifyClientAssertion,
  VerifyError,
} from "@signpost/verify";
import type { KeySetErrorCode, RemoteKeySetOptions, TokenErrorCode } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { Agent, ProxyAgent } from "undici";
import type { Dispatcher } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { withRequests } from "../src/http/request.ts";
import { createClockReader } from "../src/http/clock-reading.ts";
import type { Requester } from "../src/http/request.ts";
import { testKey } from "./support/keys.ts";
import { LONG_CACHE, origin, setup } from "./support/remote.ts";

// What a gateway needs of an error: 401 or 503, and where to look.

const key = testKey("k");

async function failure(work: Promise<unknown>): Promise<VerifyError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof VerifyError) return error;
  throw new Error("expected a VerifyError", { cause: error });
}

it("VerifyError and ConfigurationError are the classes that core throws", () => {
  expect(VerifyError).toBe(core.VerifyError);
  expect(ConfigurationError).toBe(core.ConfigurationError);
  expect(new VerifyError("code", "message").transient).toBe(false);
});

describe("transient", () => {
  const keySetCodes: Record<KeySetErrorCode, boolean> = {
    unsupported_alg: false,
    missing_kid: false,
    unknown_kid: false,
    no_suitable_key: false,
    key_left_out: false,
    kid_rebound: false,
    ambiguous_key: false,
    address_refused: false,
    guard_unavailable: false,
    aborted: false,
    throttled: true,
    fetch_failed: true,
    timeout: true,
    http_status: true,
    redirect_refused: true,
    unexpected_content_type: true,
    body_too_large: true,
    invalid_jwks: true,
    no_usable_key: true,
    invalid_metadata: true,
    issuer_mismatch: true,
  };

  it.each(Object.entries(keySetCodes))("of a KeySetError %s is %s", (code, transient) => {
    expect(new KeySetError(code as KeySetErrorCode, "message")).toMatchObject({ transient });
  });

  it.each<[TokenErrorCode, boolean]>([
    ["bad_signature", false],
    ["expired", false],
    ["replayed", false],
    ["unknown_client", false],
    ["replay_store_unavailable", true],
  ])("of a TokenError %s is %s", (code, transient) => {
    expect(new TokenError(code, "message")).toMatchObject({ transient });
  });

  it("is false for an unknown kid, even while its refetch is throttled", async () => {
    const { verify } = await setup(origin([key], LONG_CACHE));
    await verify(key.token());
    const other = testKey("other");
    expect(await failure(verify(other.token()))).toMatchObject({ code: "unknown_kid", transient: false });
    expect(await failure(verify(other.token()))).toMatchObject({
      code: "unknown_kid",
      transient: false,
      retryAfterMs: 20_000,
    });
  });

  it("and the message are those of the failure while it is answered from memory", async () => {
    const { verify } = await setup(() => "destroy");
    const first = await failure(verify(key.token()));
    const second = await failure(verify(key.token()));
    expect(first).toMatchObject({ code: "fetch_failed", transient: true });
    expect(second).toMatchObject({ code: "fetch_failed", transient: true, message: first.message, retryAfterMs: 5000 });
  });

  it("is false for a jwks that was passed, because the network is not at fault", () => {
    const given = (jwks: unknown) => () => createStaticKeySet(jwks as never);
    expect(given({})).toThrow(expect.objectContaining({ code: "invalid_jwks", transient: false }));
    expect(given({ keys: [] })).toThrow(
      expect.objectContaining({
        code: "no_usable_key",
        transient: false,
        message: "none of the 0 keys can verify a signature",
      }),
    );
  });

  it("is true if a replay store does not know", async () => {
    const memory = createMemoryReplayStore({ maxEntries: 1 });
    await memory.claim("a", 1000);
    expect(await failure(memory.claim("b", 1000))).toMatchObject({ code: "replay_store_full", transient: true });
    const silent = createRedisReplayStore({ sendCommand: () => new Promise(() => {}) }, { timeoutMs: 5 });
    expect(await failure(silent.claim("a", 1000))).toMatchObject({ code: "replay_store_unavailable", transient: true });
    const odd = createRedisReplayStore({ sendCommand: async () => 7 });
    expect(await failure(odd.claim("a", 1000))).toMatchObject({ code: "replay_store_unavailable", transient: true });
    const exp = Math.floor(Date.now() / 1000) + 60;
    const issuer = "https://op.example";
    const assertion = await key.token({ iss: "c", sub: "c", aud: issuer, jti: "1", exp });
    const keysOf = () => createStaticKeySet({ keys: [key.jwk] });
    expect(await failure(verifyClientAssertion(assertion, { issuer, keysOf, replayStore: memory }))).toMatchObject({
      code: "replay_store_unavailable",
      transient: true,
    });
  });
});

describe("the message of a failed fetch names host and reason", () => {
  const header = { alg: "ES256", kid: "k" };
  const loopback = { allowInsecureLoopback: true };
  const coded = (code: string, cause?: unknown): Error => Object.assign(new Error("in the way", { cause }), { code });
  const named = (name: string): Error => Object.assign(new Error("secret"), { name });
  /** As Node's own errors are to a test under Jest. */
  const foreign = (code: string): unknown => runInNewContext("Object.assign(new Error('secret'), { code })", { code });
  const throwing = (thrown: unknown): RemoteKeySetOptions => ({ fetch: () => Promise.reject(thrown) });

  it("if nothing listens", async () => {
    const server = await startCountingJwksServer(() => "destroy");
    await server.stop();
    const { message } = await failure(createRemoteKeySet(server.jwksUri, loopback)(header));
    expect(message).toBe(`${server.jwksUri} could not be fetched: ECONNREFUSED`);
    const localhost = server.origin.replace("127.0.0.1", "localhost");
    const discovered = await failure(discoverKeySet(localhost, loopback)(header));
    expect(discovered.message).toBe(`${localhost}/.well-known/openid-configuration could not be fetched: ECONNREFUSED`);
  });

  it("says that a port is one that fetch never opens", async () => {
    const keySet = createRemoteKeySet("http://127.0.0.1:6000/jwks", { allowInsecureLoopback: true });
    await expect(keySet.preload()).rejects.toMatchObject({
      code: "fetch_failed",
      message: "http://127.0.0.1:6000/jwks could not be fetched: bad port",
    });
  });

  it.each([403, 407, 502])("if a proxy answers %d to CONNECT", async (status) => {
    const proxy = createServer().on("connect", (_request, socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`));
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const { port } = proxy.address() as AddressInfo;
    const dispatcher = new ProxyAgent(`http://user:secret@127.0.0.1:${port}`);
    onTestFinished(async () => {
      await dispatcher.destroy();
      proxy.close();
    });
    const { message } = await failure(createRemoteKeySet("https://op.example/jwks", { dispatcher })(header));
    expect(message).toBe(`https://op.example/jwks could not be fetched: the proxy answered with status ${status}`);
  });

  it("says that a dispatcher is of another undici", async () => {
    class NewerAgent extends Agent {
      // As undici 8 does, which knows no handlers of undici 7.
      override dispatch(_options: unknown, handler: Dispatcher.DispatchHandler): boolean {
        if (typeof handler.onRequestStart === "function") return true;
        throw Object.assign(new Error("invalid onRequestStart method"), { code: "UND_ERR_INVALID_ARG" });
      }
    }
    const dispatcher = new NewerAgent();
    onTestFinished(() => dispatcher.close());
    const { message } = await failure(createRemoteKeySet("https://op.example/jwks", { dispatcher })(header));
    expect(message).toContain(
      "/jwks could not be fetched: the dispatcher is not of undici 7; pass a fetch that uses it",
    );
  });

  it("if the name does not resolve", async () => {
    const dispatcher = new Agent({
      connect: { lookup: (_host, _options, callback) => callback(coded("ENOTFOUND"), []) },
    });
    onTestFinished(() => dispatcher.close());
    const { message } = await failure(createRemoteKeySet("https://op.example/jwks", { dispatcher })(header));
    expect(message).toBe("https://op.example/jwks could not be fetched: ENOTFOUND");
  });

  it.each<[string, unknown, string]>([
    [
      "two causes down",
      new TypeError("fetch failed", { cause: coded("UND_ERR_X", coded("ECONNRESET")) }),
      ": ECONNRESET",
    ],
    ["one of several addresses", new AggregateError([coded("EHOSTUNREACH")]), ": EHOSTUNREACH"],
    ["no code", new Error("https://op.example/jwks?secret"), ""],
    ["a code that is not a name", Object.assign(new Error("x"), { code: "see https://op.example/jwks?secret" }), ""],
    ["a code that is a number", Object.assign(new Error("x"), { code: 20 }), ""],
    ["no error", "secret", ""],
    ["a name alone", new TypeError("fetch failed", { cause: named("HTTPParserError") }), ": HTTPParserError"],
    ["a time-out of the caller's own fetch", new DOMException("secret", "TimeoutError"), ": TimeoutError"],
    [
      "a code and a name",
      new TypeError("fetch failed", { cause: coded("ECONNRESET", named("Inner")) }),
      ": ECONNRESET",
    ],
    ["an error of another realm", new TypeError("fetch failed", { cause: foreign("ECONNREFUSED") }), ": ECONNREFUSED"],
  ])("with %s", async (_name, thrown, reason) => {
    const { message } = await failure(createRemoteKeySet("https://op.example/jwks?secret", throwing(thrown))(header));
    expect(message).toBe(`https://op.example/jwks could not be fetched${reason}`);
  });

  it.each<[string, unknown, string]>([
    ["no set", { key: [] }, "invalid_jwks"],
    ["no usable key", { keys: [{ kty: "oct", k: "AAAA" }] }, "no_usable_key"],
  ])("where the answer is %s", async (_name, body, code) => {
    const url = "https://op.example/jwks?secret";
    const error = await failure(createRemoteKeySet(url, { fetch: async () => Response.json(body) })(header));
    expect(error).toMatchObject({ code, transient: true });
    expect(error.message).toMatch(/^https:\/\/op\.example\/jwks: /);
    expect(error.message).not.toContain("secret");
  });

  it("if a 304 answers a request without a condition", async () => {
    const fetch = async () => new Response(null, { status: 304 });
    const error = await failure(createRemoteKeySet("https://op.example/jwks?secret", { fetch })(header));
    expect(error).toMatchObject({ code: "http_status", status: 304, transient: true });
    expect(error.message).toBe("https://op.example/jwks answered with status 304 to a request without a condition");
  });

  it("if the HTTP client cannot be loaded", async () => {
    const requester: Requester = {
      url: new URL("https://op.example/jwks"),
      limits: { timeoutMs: 1000, maxBodyBytes: 1, contentTypes: "any" },
      loadFetch: () => Promise.reject(coded("ERR_MODULE_NOT_FOUND")),
      accept: "application/json",
      instant: createClockReader({}),
      host: { answered: () => {}, mayBeDead: () => false },
      onRequest: () => {},
    };
    const error = await failure(withRequests(requester, async () => undefined));
    expect(error.message).toBe("https://op.example/jwks could not be fetched: ERR_MODULE_NOT_FOUND");
  });

  it("if the address is refused", async () => {
    const keySet = createRemoteKeySet("https://127.0.0.1/jwks?secret", { publicAddressesOnly: true });
    const error = await failure(keySet(header));
    expect(error.message).toBe("https://127.0.0.1/jwks: the address of the host is not public");
    expect(error).toMatchObject({ code: "address_refused", transient: false });
  });
});

describe("the cause of a failed fetch", () => {
  const header = { alg: "ES256", kid: "k" };
  /** As fetch libraries throw: with the whole URL, and with what was asked. */
  const thrown = (url: string): Error =>
    Object.assign(new Error(`request to ${url} failed`, { cause: new Error("connect ECONNREFUSED") }), {
      code: "ECONNREFUSED",
      config: { url },
    });

  it("repeats no query, at any depth", async () => {
    const fetch = async (url: string) => Promise.reject(new Error("fetch failed", { cause: thrown(url) }));
    const keySet = createRemoteKeySet("https://op.example/jwks?secret=1", { fetch });
    for (const error of [await failure(keySet(header)), await failure(keySet(header))]) {
      expect(inspect(error, { depth: 10 })).not.toContain("secret=1");
      expect(inspect(error, { depth: 10 })).toContain("connect ECONNREFUSED");
      expect(error.message).toBe("https://op.example/jwks could not be fetched: ECONNREFUSED");
    }
  });

  it("is the error itself if there is no query", async () => {
    const own = thrown("https://op.example/jwks");
    const error = await failure(
      createRemoteKeySet("https://op.example/jwks", { fetch: () => Promise.reject(own) })(header),
    );
    expect(error.cause).toBe(own);
  });
});
