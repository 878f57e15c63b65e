import type { Answer, CountingJwksServer, Reply } from "@signpost/test-backends/counting-jwks-server";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { discoverKeySet } from "@signpost/verify";
import type { DiscoveredKeyFunction, RemoteKeySetOptions } from "@signpost/verify";
import { jwtVerify } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";
import type { TestKey } from "../support/keys.ts";
import type { FakeClock } from "../support/remote.ts";
import { eventually, fakeClock, LONG_CACHE, origin, ROTATION_CACHE } from "../support/remote.ts";

const a = testKey("a");
const b = testKey("b");

/** An OP with an issuer of a path, whose discovery document and sets a test decides. */
interface Op {
  readonly server: CountingJwksServer;
  readonly clock: FakeClock;
  readonly keySet: DiscoveredKeyFunction;
  readonly issuer: string;
  metadata: Record<string, unknown>;
  discoveryReply: Reply | undefined;
  readonly sets: Map<string, Answer>;
  paths(): string[];
  verify(key: TestKey): Promise<unknown>;
}

async function op(options: RemoteKeySetOptions = {}): Promise<Op> {
  const server = await startCountingJwksServer((request) => {
    if (request.path === "/tenant/.well-known/openid-configuration") {
      const headers = { ...LONG_CACHE, "content-type": "application/json" };
      return made.discoveryReply ?? { headers, body: JSON.stringify(made.metadata) };
    }
    return made.sets.get(request.path)?.(request) ?? { status: 404 };
  });
  onTestFinished(() => server.stop());
  const issuer = `${server.origin}/tenant`;
  const clock = fakeClock();
  const keySet = discoverKeySet(issuer, { allowInsecureLoopback: true, clock, now: clock.now, ...options });
  const made: Op = {
    server,
    clock,
    keySet,
    issuer,
    metadata: { issuer, jwks_uri: `${server.origin}/elsewhere/keys` },
    discoveryReply: undefined,
    sets: new Map([["/elsewhere/keys", origin([a], LONG_CACHE)]]),
    paths: () => server.requests.map(({ path }) => path),
    verify: async (key) => jwtVerify(await key.token(), keySet),
  };
  return made;
}

const DISCOVERY = "/tenant/.well-known/openid-configuration";

describe("discovery", () => {
  it("reads the document under the issuer's path first, and relies on its jwks_uri", async () => {
    const { verify, paths, keySet, server } = await op();
    await verify(a);
    await verify(a);
    expect(paths()).toEqual([DISCOVERY, "/elsewhere/keys"]);
    expect(keySet.stats()).toMatchObject({
      jwksUri: `${server.origin}/elsewhere/keys`,
      discovery: { requests: 1 },
      keySet: { requests: 1, keys: 1 },
    });
  });

  it.each<[RemoteKeySetOptions["contentTypes"], string, string | undefined]>([
    [undefined, "application/json", undefined],
    [undefined, "application/jwk-set+json", "unexpected_content_type"],
    [undefined, "text/json", "unexpected_content_type"],
    [["text/json", "application/jwk-set+json"], "Text/JSON; charset=utf-8", undefined],
    [["application/jwk-set+json"], "application/json", "unexpected_content_type"],
    ["any", "text/html", undefined],
  ])("contentTypes: %j of a document of %s", async (contentTypes, contentType, code) => {
    const made = await op({ contentTypes });
    made.discoveryReply = { headers: { "content-type": contentType }, body: JSON.stringify(made.metadata) };
    const verified = made.verify(a);
    await (code === undefined
      ? expect(verified).resolves.toBeDefined()
      : expect(verified).rejects.toMatchObject({ code }));
  });

  it("takes an issuer with a trailing slash at its word", async () => {
    const made = await op();
    const keySet = discoverKeySet(`${made.issuer}/`, { allowInsecureLoopback: true });
    await expect(keySet.preload()).rejects.toMatchObject({
      code: "issuer_mismatch",
      message: expect.stringContaining(
        `expected ${made.issuer}/ in the discovery document, got ${made.issuer}`,
      ) as unknown,
    });
    made.metadata = { ...made.metadata, issuer: `${made.issuer}/` };
    const again = discoverKeySet(`${made.issuer}/`, { allowInsecureLoopback: true });
    await again.preload();
    expect(made.paths()).toEqual([DISCOVERY, DISCOVERY, "/elsewhere/keys"]);
  });

  it.each<[string, (metadata: Record<string, unknown>) => unknown, string]>([
    ["another issuer", (metadata) => ({ ...metadata, issuer: "https://evil.example" }), "issuer_mismatch"],
    ["no issuer", ({ jwks_uri }) => ({ jwks_uri }), "issuer_mismatch"],
    ["no jwks_uri", ({ issuer }) => ({ issuer }), "invalid_metadata"],
    ["a jwks_uri by http", (metadata) => ({ ...metadata, jwks_uri: "http://op.example/jwks" }), "invalid_metadata"],
    ["a relative jwks_uri", (metadata) => ({ ...metadata, jwks_uri: "/jwks" }), "invalid_metadata"],
    ["no object", () => [], "invalid_metadata"],
  ])("refuses a document with %s, without asking for a set", async (_name, change, code) => {
    const made = await op();
    made.discoveryReply = {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(change(made.metadata)),
    };
    await expect(made.verify(a)).rejects.toMatchObject({ code });
    await expect(made.verify(a)).rejects.toMatchObject({ code, retryAfterMs: 5000 });
    expect(made.paths()).toEqual([DISCOVERY]);
  });

  it("refuses a document that is not JSON", async () => {
    const made = await op();
    made.discoveryReply = { headers: { "content-type": "application/json" }, body: "<html>" };
    await expect(made.verify(a)).rejects.toMatchObject({ code: "invalid_metadata" });
  });

  it.each([
    ["http://op.example"],
    ["https://op.example?tenant=1"],
    ["https://op.example#x"],
    ["https://op.example/#"],
    ["op.example"],
  ])("refuses the issuer %s", (issuer) => {
    expect(() => discoverKeySet(issuer)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument: "issuer" }),
    );
  });

  it("judges the header before it fetches anything", async () => {
    const { keySet, paths } = await op();
    await expect(keySet({ alg: "none" })).rejects.toMatchObject({ code: "unsupported_alg" });
    await expect(keySet({ alg: "ES256" })).rejects.toMatchObject({ code: "missing_kid" });
    expect(paths()).toEqual([]);
  });
});

describe("a jwks_uri that changed", () => {
  it("is followed when the document is read again", async () => {
    const made = await op({ staleWhileRevalidate: false });
    await made.verify(a);
    made.metadata = { ...made.metadata, jwks_uri: `${made.server.origin}/new` };
    made.sets.set("/new", origin([b], LONG_CACHE));
    made.clock.advanceSeconds(3601);
    await made.verify(b);
    // The set at the old URI is forgotten with its keys.
    await expect(made.verify(a)).rejects.toMatchObject({ code: "unknown_kid" });
    expect(made.keySet.stats()).toMatchObject({ jwksUri: `${made.server.origin}/new` });
  });

  it("is followed immediately for an unknown kid", async () => {
    const made = await op();
    await made.verify(a);
    made.metadata = { ...made.metadata, jwks_uri: `${made.server.origin}/new` };
    made.sets.set("/new", origin([b, a], LONG_CACHE));
    await made.verify(b);
    expect(made.paths()).toEqual([DISCOVERY, "/elsewhere/keys", "/elsewhere/keys", DISCOVERY, "/new"]);
  });

  it("is followed if the old one is gone", async () => {
    const made = await op();
    await made.keySet.preload();
    made.metadata = { ...made.metadata, jwks_uri: `${made.server.origin}/new` };
    made.sets.set("/new", origin([a], LONG_CACHE));
    made.sets.delete("/elsewhere/keys");
    await made.verify(b).catch(() => {});
    await expect(made.verify(a)).resolves.toBeDefined();
  });

  it("costs two requests for a hundred random kids when nothing changed", async () => {
    const { keySet, verify, paths } = await op();
    await verify(a);
    const before = paths().length;
    for (let index = 0; index < 100; index += 1) {
      await expect(keySet({ alg: "ES256", kid: `random-${index}` })).rejects.toMatchObject({ code: "unknown_kid" });
    }
    expect(paths().slice(before)).toEqual(["/elsewhere/keys", DISCOVERY]);
  });

  it.each([
    ["is too large", { headers: { "content-type": "application/json" }, body: " ".repeat(70_000) }],
    ["redirects", { status: 302, headers: { location: "/new" } }],
    ["is a page", { headers: { "content-type": "text/html" }, body: "<html></html>" }],
  ])("is followed where the answer at the old one %s", async (_name, reply) => {
    const made = await op();
    await made.keySet.preload();
    made.metadata = { ...made.metadata, jwks_uri: `${made.server.origin}/new` };
    made.sets.set("/new", origin([b, a], LONG_CACHE));
    made.sets.set("/elsewhere/keys", () => reply);
    await expect(made.verify(b)).resolves.toBeDefined();
  });

  it("is found by refresh", async () => {
    const made = await op();
    await made.verify(a);
    made.metadata = { ...made.metadata, jwks_uri: `${made.server.origin}/new` };
    made.sets.set("/new", origin([b], LONG_CACHE));
    await made.keySet.refresh();
    await made.verify(b);
    await expect(made.verify(a)).rejects.toMatchObject({ code: "unknown_kid" });
  });
});

describe("a document that cannot be read again", () => {
  const down = { status: 503 };
  const unstated = { "content-type": "application/json" };

  it("leaves the set to its own headers, two hours longer", async () => {
    const made = await op({ forcedRefetchIntervalMs: 0 });
    made.discoveryReply = { headers: unstated, body: JSON.stringify(made.metadata) };
    await made.verify(a);
    made.discoveryReply = down;
    made.clock.advanceSeconds(301);
    await made.verify(a);
    made.clock.advanceSeconds(7198);
    await made.verify(a);
    made.clock.advanceSeconds(2);
    await expect(made.verify(a)).rejects.toMatchObject({ code: "http_status", status: 503 });
  });

  it("does not make callers wait while the set is fresh, and is requested in the background", async () => {
    const made = await op();
    made.discoveryReply = { headers: unstated, body: JSON.stringify(made.metadata) };
    await made.verify(a);
    made.discoveryReply = { after: new Promise(() => {}) };
    for (const seconds of [301, 5, 4]) {
      made.clock.advanceSeconds(seconds);
      await Promise.all([made.verify(a), made.verify(a)]);
    }
    await eventually(() => made.paths().filter((path) => path === DISCOVERY).length === 2);
    expect(made.keySet.stats().keySet).toMatchObject({ requests: 1 });
  });

  it("makes a caller whose set is stale wait until the failure is known, and none after that", async () => {
    const made = await op({ timeoutMs: 150 });
    made.sets.set("/elsewhere/keys", origin([a], { "cache-control": "no-cache" }));
    made.discoveryReply = { headers: unstated, body: JSON.stringify(made.metadata) };
    await made.verify(a);
    made.discoveryReply = { after: new Promise(() => {}) };
    made.clock.advanceSeconds(301);
    await made.verify(a);
    expect(made.keySet.stats()).toMatchObject({ discovery: { failed: 1 }, keySet: { requests: 2 } });
    made.clock.advanceSeconds(11);
    await made.verify(a);
    // The next attempt hangs behind, and the set has been asked for.
    expect(made.keySet.stats()).toMatchObject({ discovery: { failed: 1, requests: 3 }, keySet: { requests: 3 } });
  });

  it("that names another place is followed as soon as it is here", async () => {
    const made = await op();
    made.discoveryReply = { headers: unstated, body: JSON.stringify(made.metadata) };
    await made.verify(a);
    made.metadata = { ...made.metadata, jwks_uri: `${made.server.origin}/new` };
    made.sets.set("/new", origin([b], LONG_CACHE));
    made.discoveryReply = { headers: unstated, body: JSON.stringify(made.metadata) };
    made.clock.advanceSeconds(301);
    await made.verify(a);
    await eventually(() => made.keySet.stats().jwksUri === `${made.server.origin}/new`);
    await expect(made.verify(a)).rejects.toMatchObject({ code: "unknown_kid" });
    await made.verify(b);
  });

  it("keeps no refresh from the set while it hangs", async () => {
    const made = await op();
    await made.verify(a);
    made.discoveryReply = { after: new Promise(() => {}) };
    made.sets.set("/elsewhere/keys", origin([b], LONG_CACHE));
    const leaving = new AbortController();
    const refreshed = made.keySet.refresh({ signal: leaving.signal });
    await eventually(() => made.keySet.stats().keySet?.updated === 2);
    leaving.abort();
    await expect(refreshed).rejects.toMatchObject({ code: "aborted" });
    await expect(made.keySet({ alg: "ES256", kid: "b" })).resolves.toBeDefined();
  });

  it("keeps nothing of a set that must be revalidated and cannot be", async () => {
    const made = await op();
    made.sets.set("/elsewhere/keys", origin([a], ROTATION_CACHE));
    await made.verify(a);
    made.discoveryReply = down;
    made.sets.delete("/elsewhere/keys");
    made.clock.advanceSeconds(301);
    await expect(made.verify(a)).rejects.toMatchObject({ code: "http_status", status: 404 });
  });

  it("does not keep refresh from the set: a revoked key is untrusted", async () => {
    const made = await op();
    await made.verify(a);
    made.discoveryReply = down;
    made.sets.set("/elsewhere/keys", origin([b], LONG_CACHE));
    await expect(made.keySet.refresh()).rejects.toMatchObject({ code: "http_status", status: 503 });
    await expect(made.verify(a)).rejects.toMatchObject({ code: "unknown_kid" });
    await made.verify(b);
  });
});

describe("a caller that leaves", () => {
  it("is released while the document is on its way", async () => {
    const made = await op();
    made.discoveryReply = { after: new Promise(() => {}) };
    const leaving = new AbortController();
    const left = made.keySet.withSignal(leaving.signal)({ alg: "ES256", kid: "a" });
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: "aborted" });
  });
});
