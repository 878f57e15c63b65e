import { Readable } from "node:stream";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { createRemoteKeySet } from "@signpost/verify";
import type { FetchInit, RemoteKeySetOptions } from "@signpost/verify";
import { describe, expect, it } from "vitest";
import { testKey } from "../support/keys.ts";
import { fakeClock, LONG_CACHE, origin, ROTATION_CACHE, setup } from "../support/remote.ts";

// Rule 6: limits.

const a = testKey("a");
const json = { "content-type": "application/json" };

describe("the URL", () => {
  it.each([
    ["http://op.example/jwks"],
    ["http://127.0.0.1/jwks"],
    ["ftp://op.example/jwks"],
    ["file:///jwks"],
    ["data:application/json,{}"],
    ["/jwks"],
    [""],
    ["https://user:secret@op.example/jwks"],
    ["https://op.example/jwks#keys"],
    ["https://op.example/jwks#"],
  ])("%s is refused", (url) => {
    expect(() => createRemoteKeySet(url)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument: "jwksUri" }),
    );
  });

  it.each([
    ["http://op.example/jwks"],
    ["http://128.0.0.1/jwks"],
    ["http://127.0.0.1.example/jwks"],
    ["http://localhost.example/jwks"],
    ["http://[::2]/jwks"],
  ])("%s is refused also where http is allowed on loopback", (url) => {
    expect(() => createRemoteKeySet(url, { allowInsecureLoopback: true })).toThrow(
      expect.objectContaining({ argument: "jwksUri" }),
    );
  });

  it.each([
    ["http://127.0.0.1:8080/jwks"],
    ["http://[::1]/jwks"],
    ["http://localhost/jwks"],
    ["https://op.example/jwks"],
  ])("%s is taken where http is allowed on loopback", (url) => {
    expect(createRemoteKeySet(url, { allowInsecureLoopback: true }).jwksUri).toBe(url);
  });

  it.each([["https://127.0.0.1/jwks"], ["https://[::ffff:169.254.169.254]/jwks"], ["https://localhost/jwks"]])(
    "%s is refused if only public addresses are allowed",
    async (url) => {
      const keySet = createRemoteKeySet(url, { publicAddressesOnly: true });
      await expect(keySet.preload()).rejects.toMatchObject({ code: "address_refused" });
    },
  );

  it("never shows its credentials in an error, even if it cannot be parsed", () => {
    for (const url of ["https://user:top-secret@op example/jwks", "https://user:top-secret@op.example/jwks"]) {
      let error: unknown;
      try {
        createRemoteKeySet(url);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({ argument: "jwksUri" });
      expect(inspect(error, { depth: null, showHidden: true })).not.toContain("top-secret");
    }
  });

  it("never shows its query in an error", async () => {
    const { server } = await setup(() => ({ status: 500 }));
    const keySet = createRemoteKeySet(`${server.jwksUri}?key=secret`, { allowInsecureLoopback: true });
    const error: unknown = await keySet.preload().catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("/jwks answered with status 500");
    expect(String(error)).not.toContain("secret");
  });
});

describe("an answer", () => {
  it.each([301, 302, 303, 307, 308])("%i is never followed", async (status) => {
    // The client of a set follows none anyway. A fetch follows those that it is not told to leave.
    for (const options of [{}, { fetch: globalThis.fetch }]) {
      const { verify, server } = await setup(origin([a], LONG_CACHE), options);
      server.answerWith((request) =>
        request.path === "/jwks"
          ? { status, headers: { location: `${server.origin}/moved` } }
          : origin([a], LONG_CACHE)(request),
      );
      await expect(verify(a.token())).rejects.toMatchObject({ code: "redirect_refused", status });
      expect(server.requests).toHaveLength(1);
    }
  });

  it("that never comes is given up", async () => {
    const { verify } = await setup({ after: new Promise<void>(() => {}) }, { timeoutMs: 50 });
    await expect(verify(a.token())).rejects.toMatchObject({ code: "timeout" });
  });

  it("whose body never ends is given up", async () => {
    const endless = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
    const fetch = async () => new Response(endless, { headers: json });
    const keySet = createRemoteKeySet("https://op.example/jwks", { fetch, timeoutMs: 50 });
    await expect(keySet.preload()).rejects.toMatchObject({ code: "timeout" });
  });

  it("that is text is refused immediately, because its bytes would not be counted", async () => {
    let pulls = 0;
    const text = new ReadableStream<string>({
      pull(controller) {
        pulls += 1;
        if (pulls > 1000) controller.close();
        else controller.enqueue("x".repeat(65_537));
      },
    });
    const answer = { status: 200, headers: new Headers(json), body: text as unknown as ReadableStream<Uint8Array> };
    const keySet = createRemoteKeySet("https://op.example/jwks", { fetch: async () => answer });
    await expect(keySet.preload()).rejects.toMatchObject({ code: "fetch_failed" });
    expect(pulls).toBeLessThan(10);
  });

  it.each([
    ["never settles", () => new Promise<void>(() => {})],
    ["rejects", () => Promise.reject(new Error("no"))],
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
  ])("whose cancel() %s delays and changes nothing if it is not read", async (_what, cancel) => {
    let canceled = 0;
    const counted = (): Promise<void> => {
      canceled += 1;
      return cancel();
    };
    const body = { cancel: counted } as unknown as ReadableStream<Uint8Array>;
    const keySet = createRemoteKeySet("https://op.example/jwks", {
      fetch: async () => ({ status: 404, headers: new Headers(json), body }),
    });
    await expect(keySet.preload()).rejects.toMatchObject({ code: "http_status" });
    expect(canceled).toBe(1);
  });

  it("that is too long and whose cancel() never settles does not delay the refusal", async () => {
    const cancel = (): Promise<void> => new Promise(() => {});
    const start = (controller: ReadableStreamDefaultController): void => controller.enqueue(new Uint8Array(2 ** 20));
    const answer = { status: 200, headers: new Headers(json), body: new ReadableStream({ start, cancel }) };
    const keySet = createRemoteKeySet("https://op.example/jwks", { fetch: async () => answer });
    await expect(keySet.preload()).rejects.toMatchObject({ code: "body_too_large" });
  });

  it("that cannot be canceled, like a stream of node-fetch, is ignored if it is not read", async () => {
    const clock = fakeClock();
    const stream = (text: string) => Readable.from([Buffer.from(text)]) as unknown as ReadableStream<Uint8Array>;
    let status = 200;
    const keySet = createRemoteKeySet("https://op.example/jwks", {
      clock,
      now: clock.now,
      fetch: async () => ({
        status,
        headers: new Headers({ ...json, ...ROTATION_CACHE, etag: '"e"' }),
        body: stream(status === 200 ? JSON.stringify({ keys: [a.jwk] }) : ""),
      }),
    });
    await keySet.preload();
    clock.advanceSeconds(301);
    status = 304;
    await keySet({ alg: "ES256", kid: "a" });
    expect(keySet.stats()).toMatchObject({ notModified: 1, failed: 0 });
    clock.advanceSeconds(301);
    status = 503;
    await expect(keySet({ alg: "ES256", kid: "a" })).rejects.toMatchObject({ code: "http_status", status: 503 });
  });

  it("is given up even if fetch ignores the signal", async () => {
    const keySet = createRemoteKeySet("https://op.example/jwks", { fetch: () => new Promise(() => {}), timeoutMs: 50 });
    await expect(keySet.preload()).rejects.toMatchObject({ code: "timeout" });
  });

  it.each<[string, RemoteKeySetOptions["revalidateWith"], (init: FetchInit) => number]>([
    ["HEAD that is refused, and GET", "head", ({ method }) => (method === "HEAD" ? 405 : 200)],
    ["HEAD that names another set, and GET", "head", () => 200],
    ["a 304 about another set, and GET", "get", ({ headers }) => ("if-none-match" in headers ? 304 : 200)],
  ])("is shared by all requests for one answer: %s", async (_name, revalidateWith, statusOf) => {
    const clock = fakeClock();
    const requests: string[] = [];
    let etag = '"1"';
    let delayMs = 0;
    const keySet = createRemoteKeySet("https://op.example/jwks", {
      clock,
      now: clock.now,
      revalidateWith,
      timeoutMs: 200,
      fetch: async (_url, init) => {
        requests.push(init.method);
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        const status = statusOf(init);
        const body = status === 200 && init.method === "GET" ? JSON.stringify({ keys: [a.jwk] }) : null;
        return new Response(body, { status, headers: { ...json, ...ROTATION_CACHE, etag } });
      },
    });
    await keySet.preload();
    clock.advanceSeconds(301);
    etag = '"2"';
    delayMs = 130;
    await expect(keySet({ alg: "ES256", kid: "a" })).rejects.toMatchObject({ code: "timeout" });
    expect(requests).toHaveLength(3);
  });

  it("of more than 64 KiB is refused, and one of exactly 64 KiB is read", async () => {
    const padded = (length: number): string => {
      const body = JSON.stringify({ keys: [a.jwk], pad: "" });
      return body.replace('"pad":""', `"pad":"${"x".repeat(length - body.length)}"`);
    };
    const small = await setup({ headers: json, body: padded(65_536) });
    await small.verify(a.token());
    const large = await setup({ headers: json, body: padded(65_537) });
    await expect(large.verify(a.token())).rejects.toMatchObject({ code: "body_too_large" });
  });

  it("is measured after decompression", async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000, " "));
    expect(bomb.length).toBeLessThan(65_536);
    const { verify } = await setup({ headers: { ...json, "content-encoding": "gzip" }, body: bomb });
    await expect(verify(a.token())).rejects.toMatchObject({ code: "body_too_large" });
  });

  it("with more than 64 entries is refused, and one with 64 is read", async () => {
    const others = Array.from({ length: 64 }, () => ({ kty: "AKP" }));
    const small = await setup(origin([...others.slice(1), a], LONG_CACHE));
    await small.verify(a.token());
    const large = await setup(origin([...others, a], LONG_CACHE));
    await expect(large.verify(a.token())).rejects.toMatchObject({ code: "invalid_jwks" });
  });
});

describe("options", () => {
  it.each([
    ["timeoutMs", 0],
    ["timeoutMs", Number.NaN],
    ["maxBodyBytes", -1],
    ["maxKeys", 0],
    ["staleIfErrorSeconds", 86_401],
    ["staleIfErrorSeconds", Number.POSITIVE_INFINITY],
    ["forcedRefetchBurst", 0],
    ["minRevalidateIntervalMs", -1],
  ])("%s: %d is refused", (name, value) => {
    expect(() => createRemoteKeySet("https://op.example/jwks", { [name]: value })).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument: name }),
    );
  });

  it("undefined stands for the default", async () => {
    const { server } = await setup(origin([a], LONG_CACHE));
    const keySet = createRemoteKeySet(server.jwksUri, {
      allowInsecureLoopback: true,
      timeoutMs: undefined,
      contentTypes: undefined,
    });
    await keySet.preload();
    expect(keySet.stats().keys).toBe(1);
  });
});
