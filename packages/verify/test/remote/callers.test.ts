import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { getEventListeners, setMaxListeners } from "node:events";
import { createRemoteKeySet, KEY_SET_CHANNEL } from "@signpost/verify";
import type { KeySetEvent } from "@signpost/verify";
import { compactVerify, flattenedVerify, generalVerify, jwtVerify } from "jose";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { testKey } from "../support/keys.ts";
import { eventually, gate, LONG_CACHE, origin, ROTATION_CACHE, setup } from "../support/remote.ts";

const a = testKey("a");
const b = testKey("b");

describe("as jose's key function", () => {
  it("serves jwtVerify, compactVerify, flattenedVerify and generalVerify", async () => {
    const { keySet, count } = await setup(origin([a], LONG_CACHE));
    const token = await a.token({ sub: "1" });
    const [protectedHeader = "", payload = "", signature = ""] = token.split(".");
    expect((await jwtVerify(token, keySet)).payload).toEqual({ sub: "1" });
    expect((await compactVerify(token, keySet)).protectedHeader).toMatchObject({ kid: "a" });
    expect(
      (await flattenedVerify({ protected: protectedHeader, payload, signature }, keySet)).protectedHeader,
    ).toMatchObject({ kid: "a" });
    const general = { payload, signatures: [{ protected: protectedHeader, signature }] };
    expect((await generalVerify(general, keySet)).protectedHeader).toMatchObject({ kid: "a" });
    expect(count()).toBe(1);
  });

  it("gives the same imported key every time", async () => {
    const { keySet } = await setup(origin([a], LONG_CACHE));
    expect(await keySet({ alg: "ES256", kid: "a" })).toBe(await keySet({ alg: "ES256", kid: "a" }));
  });

  it("needs no header to refuse", async () => {
    const { keySet } = await setup(origin([a], LONG_CACHE));
    await expect(keySet()).rejects.toMatchObject({ code: "unsupported_alg" });
  });
});

describe("a caller that leaves", () => {
  it("is released alone: the fetch goes on for the others", async () => {
    const { keySet, verify, server, count } = await setup(origin([a], LONG_CACHE));
    const { opened, open } = gate();
    server.answerWith((request) => ({ ...(origin([a], LONG_CACHE)(request) as object), after: opened }));
    const leaving = new AbortController();
    const left = jwtVerify(await a.token(), keySet.withSignal(leaving.signal));
    const staying = verify(a.token());
    await eventually(() => count() === 1);
    leaving.abort(new Error("gone"));
    await expect(left).rejects.toMatchObject({ code: "aborted", cause: new Error("gone") });
    open();
    await staying;
    expect(count()).toBe(1);
  });

  it("leaves no failure behind", async () => {
    const { keySet, verify, server } = await setup(origin([a], LONG_CACHE));
    const { opened, open } = gate();
    server.answerWith((request) => ({ ...(origin([a], LONG_CACHE)(request) as object), after: opened }));
    await expect(keySet.preload({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "aborted" });
    open();
    await verify(a.token());
    expect(keySet.stats()).toMatchObject({ failed: 0 });
  });

  it("can share a signal with many others, without a leak", async () => {
    const { keySet } = await setup(origin([a], LONG_CACHE));
    const warnings: Error[] = [];
    const listen = (warning: Error): number => warnings.push(warning);
    process.on("warning", listen);
    onTestFinished(() => void process.off("warning", listen));
    const { signal } = new AbortController();
    const unlimited = new AbortController().signal;
    setMaxListeners(0, unlimited);
    const many = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? signal : unlimited));
    await Promise.all(many.map((each) => keySet.withSignal(each)({ alg: "ES256", kid: "a" })));
    // Warnings come by process.nextTick.
    await new Promise((later) => setImmediate(later));
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("may be one of twenty thousand who wait with the same signal, which costs each of them the same", async () => {
    const { keySet, server, count } = await setup(origin([a], LONG_CACHE), { timeoutMs: 60_000 });
    const { opened, open } = gate();
    server.answerWith((request) => ({ ...(origin([a], LONG_CACHE)(request) as object), after: opened }));
    const leaving = new AbortController();
    const { signal } = leaving;
    // Each of many listeners takes longer to remove than the one before.
    const listen = vi.spyOn(signal, "addEventListener");
    const outcomes: string[] = [];
    const waiting = Array.from({ length: 20_000 }, async () =>
      keySet
        .withSignal(signal)({ alg: "ES256", kid: "a" })
        .then(
          () => outcomes.push("served"),
          (error: { code: string }) => outcomes.push(error.code),
        ),
    );
    await eventually(() => count() === 1);
    expect(listen).toHaveBeenCalledTimes(1);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    leaving.abort();
    await Promise.all(waiting);
    expect(new Set(outcomes)).toEqual(new Set(["aborted"]));
    open();
    await keySet.preload();
  });

  it("is served from a fresh set even so", async () => {
    const { keySet } = await setup(origin([a], LONG_CACHE));
    await keySet.preload();
    await expect(keySet.withSignal(AbortSignal.abort())({ alg: "ES256", kid: "a" })).resolves.toBeDefined();
  });
});

describe("refresh", () => {
  it("replaces a fresh set immediately and bypasses every cache: a revoked key is untrusted", async () => {
    const { keySet, verify, server, last } = await setup(origin([a, b], LONG_CACHE));
    await verify(b.token());
    server.answerWith(origin([a], LONG_CACHE));
    await keySet.refresh();
    expect(last().headers).toMatchObject({ "cache-control": "no-cache" });
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("is not held up by the throttle or by a remembered failure", async () => {
    const { keySet, verify, server, count } = await setup(() => ({ status: 500 }));
    await expect(verify(a.token())).rejects.toMatchObject({ code: "http_status" });
    server.answerWith(origin([a], LONG_CACHE));
    await keySet.refresh();
    await keySet.refresh();
    expect(count()).toBe(3);
    await verify(a.token());
    // And the failure is forgotten: a remembered one would answer instead.
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("that fails leaves the stored set within its limits", async () => {
    const { keySet, verify, server } = await setup(origin([a], ROTATION_CACHE));
    await verify(a.token());
    server.answerWith(() => ({ status: 500 }));
    await expect(keySet.refresh()).rejects.toMatchObject({ code: "http_status" });
    await verify(a.token());
  });

  it("an older answer that arrives later does not undo it", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a, b], LONG_CACHE));
    await verify(b.token());
    clock.advanceSeconds(3601);
    const { opened, open } = gate();
    server.answerWith(() => ({
      headers: { ...LONG_CACHE, "content-type": "application/json" },
      body: JSON.stringify({ keys: [a.jwk, b.jwk] }),
      after: opened,
    }));
    await verify(b.token());
    await eventually(() => count() === 2);
    server.answerWith(origin([a], LONG_CACHE));
    await keySet.refresh();
    open();
    await eventually(() => keySet.stats().superseded === 1);
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
  });

  it("an older failure that arrives later leaves no memory of it", async () => {
    const { keySet, verify, server, clock, count } = await setup(origin([a], LONG_CACHE));
    await verify(a.token());
    clock.advanceSeconds(3601);
    const { opened, open } = gate();
    server.answerWith(() => ({ status: 503, after: opened }));
    await verify(a.token());
    await eventually(() => count() === 2);
    server.answerWith(origin([a], LONG_CACHE));
    await keySet.refresh();
    open();
    await eventually(() => keySet.stats().failed === 1);
    // A remembered failure would answer instead.
    await expect(verify(b.token())).rejects.toMatchObject({ code: "unknown_kid" });
    expect(keySet.stats()).toMatchObject({ forced: 1 });
  });
});

describe("what can be injected", () => {
  it("the built-in fetch", async () => {
    const { server } = await setup(origin([a], LONG_CACHE));
    const keySet = createRemoteKeySet(server.jwksUri, { allowInsecureLoopback: true, fetch });
    await jwtVerify(await a.token(), keySet);
    expect(server.requests).toHaveLength(1);
  });

  it("an undici dispatcher", async () => {
    const { server } = await setup(origin([a], LONG_CACHE));
    const hosts: unknown[] = [];
    const dispatcher = new Agent().compose((dispatch) => (options, handler) => {
      hosts.push(options.origin);
      return dispatch(options, handler);
    });
    onTestFinished(() => dispatcher.close());
    const keySet = createRemoteKeySet(server.jwksUri, { allowInsecureLoopback: true, dispatcher });
    await keySet.preload();
    expect(hosts).toEqual([server.origin]);
  });

  it("but not several together", () => {
    expect(() => createRemoteKeySet("https://op.example/jwks", { fetch, publicAddressesOnly: true })).toThrow(
      expect.objectContaining({ argument: "fetch" }),
    );
    expect(() => createRemoteKeySet("https://op.example/jwks", { fetch, dispatcher: new Agent() })).toThrow(
      expect.objectContaining({ argument: "fetch" }),
    );
  });

  it("a fetch that hides redirects as browsers do", async () => {
    const hidden = async () => ({ status: 0, headers: new Headers(), body: null });
    const keySet = createRemoteKeySet("https://op.example/jwks", { fetch: hidden });
    await expect(keySet.preload()).rejects.toMatchObject({ code: "redirect_refused" });
  });
});

describe("what can be seen", () => {
  it("stats tell requests, outcomes and age", async () => {
    const { keySet, verify, clock } = await setup(origin([a, { kty: "AKP" }], { ...LONG_CACHE, age: "100" }));
    expect(keySet.stats()).toEqual({
      requests: 0,
      updated: 0,
      notModified: 0,
      superseded: 0,
      older: 0,
      failed: 0,
      forced: 0,
      throttled: 0,
      keys: 0,
      dropped: {},
      ageSeconds: undefined,
      freshForSeconds: undefined,
    });
    await verify(a.token());
    clock.advanceSeconds(50);
    expect(keySet.stats()).toMatchObject({
      requests: 1,
      updated: 1,
      keys: 1,
      dropped: { unsupported_kty: 1 },
      ageSeconds: 150,
      freshForSeconds: 3450,
    });
    await verify(b.token()).catch(() => {});
    await verify(b.token()).catch(() => {});
    expect(keySet.stats()).toMatchObject({ requests: 2, updated: 2, forced: 1, throttled: 1 });
  });

  it("the channel tells each fetch and each refusal of the throttle, without the query", async () => {
    const { server, clock } = await setup(origin([a], LONG_CACHE));
    const events: KeySetEvent[] = [];
    const listener = (message: unknown): void => void events.push(message as KeySetEvent);
    subscribe(KEY_SET_CHANNEL, listener);
    onTestFinished(() => void unsubscribe(KEY_SET_CHANNEL, listener));
    const keySet = createRemoteKeySet(`${server.jwksUri}?secret=1`, {
      allowInsecureLoopback: true,
      clock,
      now: clock.now,
      staleWhileRevalidate: false,
    });
    await keySet.preload();
    clock.advanceSeconds(3601);
    await keySet.preload();
    await keySet({ alg: "ES256", kid: "x" }).catch(() => {});
    await keySet({ alg: "ES256", kid: "x" }).catch(() => {});
    server.answerWith(() => ({ status: 500 }));
    await keySet.refresh().catch(() => {});
    expect(events.map(({ reason, outcome, code, status }) => [reason, outcome, code, status])).toEqual([
      ["first", "updated", undefined, undefined],
      ["revalidate", "not_modified", undefined, undefined],
      ["forced", "updated", undefined, undefined],
      ["throttled", "refused", "unknown_kid", undefined],
      ["refresh", "failed", "http_status", 500],
    ]);
    expect(new Set(events.map(({ url }) => url))).toEqual(new Set([server.jwksUri]));
  });
});
