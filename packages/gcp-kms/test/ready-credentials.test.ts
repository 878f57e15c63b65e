import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type * as adapter from "@signpost/core/adapter";
import { SignerError } from "@signpost/core";
import type { GcpKmsClientLike } from "../src/api.ts";
import { createEarlyRenewal, hasToken } from "../src/early-renewal.ts";
import { makeReady, readyInTime } from "../src/ready.ts";
import { sentSecretsOf, withSentToken } from "../src/sent-token.ts";
import { rejection } from "./support/signatures.ts";

/** The files that were read. */
const files = vi.hoisted(() => [] as unknown[]);
vi.mock("@signpost/core/adapter", async (load) => ({
  ...(await load<typeof adapter>()),
  readRegularFile: async (_argument: string, path: string) => void files.push(path),
}));

const NOW = 1_800_000_000_000;
const MINUTE_MS = 60_000;
beforeEach(() => {
  files.length = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: NOW });
});
afterEach(() => void vi.useRealTimers());

/** Credentials with a token that ends so long after now. */
const tokenFor = (ms: number, members: object = {}): object => ({
  cachedCredential: {
    eagerRefreshThresholdMillis: 5 * MINUTE_MS,
    getRequestHeaders: async () => ({}),
    credentials: { access_token: "t", expiry_date: NOW + ms },
    ...members,
  },
});

describe("a client has a token that it sends without asking for another one", () => {
  test.each<[what: string, auth: unknown, has: boolean]>([
    ["beyond its threshold", tokenFor(5 * MINUTE_MS + 1), true],
    ["not at its threshold", tokenFor(5 * MINUTE_MS), false],
    ["not without an end", tokenFor(0, { credentials: { access_token: "t" } }), false],
    ["not with an end that is no number", tokenFor(0, { credentials: { access_token: "t", expiry_date: "x" } }), false],
    ["not without a token", tokenFor(0, { credentials: { expiry_date: NOW * 2 } }), false],
    [
      "in the cache of an external account",
      tokenFor(0, { credentials: {}, cachedAccessToken: { access_token: "t", expiry_date: NOW * 2 } }),
      true,
    ],
    ["not of another kind", tokenFor(NOW, { eagerRefreshThresholdMillis: undefined }), false],
    ["not if it cannot ask", tokenFor(NOW, { getRequestHeaders: undefined }), false],
    ["not without credentials", {}, false],
    ["not without any", undefined, false],
  ])("%s", (_what, auth, has) => {
    expect(hasToken(auth)).toBe(has);
  });
});

describe("the client's own renewal of a token", () => {
  test.each([
    [5 * MINUTE_MS, 10_000],
    [10_001, 10_000],
    [9_999, 9_999],
    [0, 0],
  ])("of %i ms before its end is moved to at most 10 s, and stays there: %i", (threshold, moved) => {
    const auth = tokenFor(60 * MINUTE_MS, { eagerRefreshThresholdMillis: threshold });
    const renewal = createEarlyRenewal();
    for (let call = 0; call < 2; call += 1) {
      renewal.check(auth);
      expect(auth).toMatchObject({ cachedCredential: { eagerRefreshThresholdMillis: moved } });
    }
    renewal.close();
  });

  test("has its usual threshold at the moment of an early renewal, and not while that goes on", async () => {
    const seen: unknown[] = [];
    const auth = tokenFor(4 * MINUTE_MS, {
      getRequestHeaders(this: { eagerRefreshThresholdMillis: number }) {
        seen.push(this.eagerRefreshThresholdMillis);
        return new Promise(() => undefined);
      },
    });
    const renewal = createEarlyRenewal();
    renewal.check(auth);
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual([5 * MINUTE_MS]);
    expect(auth).toMatchObject({ cachedCredential: { eagerRefreshThresholdMillis: 10_000 } });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(renewal.trouble()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(renewal.trouble()).toContain("(timeout)");
    renewal.close();
  });
});

describe("a client is made ready", () => {
  const source = { credential_source: { file: "/run/token" } };
  const clientWith = (auth: object | undefined, stub: unknown = { getChannel: () => undefined }): GcpKmsClientLike =>
    ({ auth, initialize: async () => stub }) as unknown as GcpKmsClientLike;
  const headers = async (): Promise<object> => ({ Authorization: "Bearer secret" });

  test("after the file with its subject token was read, unless it has a token", async () => {
    await makeReady(clientWith({ jsonContent: source, getRequestHeaders: headers }), "always");
    expect(files).toEqual(["/run/token"]);
    const kept = { ...tokenFor(60 * MINUTE_MS), jsonContent: source, getRequestHeaders: headers };
    await makeReady(clientWith(kept), "always");
    expect(files).toHaveLength(1);
  });

  test("without a look at the sources of the caller's client", async () => {
    const insecure = { ...source, token_url: "http://sts.example" };
    await makeReady(clientWith({ jsonContent: insecure, getRequestHeaders: headers }, {}), "rest");
    expect(files).toEqual([]);
    const refused = makeReady(clientWith({ jsonContent: insecure, getRequestHeaders: headers }), "always");
    await expect(refused).rejects.toThrow("for token_url in their file");
  });

  test("only with a token, which is remembered as sent", async () => {
    const none = clientWith({ getRequestHeaders: async () => ({ Authorization: "Bearer undefined" }) });
    await expect(makeReady(none, "always")).rejects.toThrow("The answer has no access token");
    const client = clientWith({ getRequestHeaders: headers });
    await makeReady(client, "always");
    expect(sentSecretsOf(await withSentToken(new Error("no"), client))).toEqual(["secret"]);
  });

  test("also without any credentials", async () => {
    for (const auth of [undefined, { getRequestHeaders: async () => undefined }]) {
      expect(await makeReady(clientWith(auth), "always")).toMatchObject({ lasting: undefined });
    }
  });
});

describe("a client that is made ready in the time of a call", () => {
  const SUBJECT = { action: "sign with", name: "v" };
  const bounds = (signal = new AbortController().signal) => ({ timeoutMs: 1000, signal });
  const LATE = "cannot sign with v: Google credentials did not arrive within 900 ms";
  const late = { last: { origin: "https://a", status: 503 } };

  test("is what was prepared, or the error of its source", async () => {
    expect(await readyInTime(Promise.resolve(7), late, bounds(), SUBJECT)).toBe(7);
    const refused = Promise.reject(Object.assign(new Error("no"), { status: 403 }));
    expect(await rejection(readyInTime(refused, late, bounds(), SUBJECT))).toMatchObject({
      code: "access_denied",
      message: "cannot sign with v: could not get an access token: the source of Google credentials answered HTTP 403",
    });
  });

  test.each([
    [late, { code: "unavailable" }],
    [
      { last: { origin: "https://a", status: undefined } },
      { code: "timeout", message: `${LATE}: https://a did not answer` },
    ],
    [{ last: { origin: "https://a", status: 200 } }, { code: "timeout", message: LATE }],
    [{ last: undefined }, { code: "timeout", message: LATE }],
  ])("is late after nine tenths of it, and says why: %#", async (record, expected) => {
    const waiting = rejection(readyInTime(new Promise(() => undefined), record, bounds(), SUBJECT));
    let isOver = false;
    void waiting.then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(899);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toMatchObject(expected);
  });

  test("is not called late for an error that only looks so", async () => {
    for (const error of [new SignerError("timeout", "another"), new SignerError("unavailable", LATE)]) {
      expect(await rejection(readyInTime(Promise.reject(error), late, bounds(), SUBJECT))).toBe(error);
    }
  });

  test("is not waited for after the end of the call", async () => {
    const waiting = readyInTime(new Promise(() => undefined), late, bounds(AbortSignal.abort()), SUBJECT);
    expect(await rejection(waiting)).toMatchObject({ code: "aborted" });
  });

  test("is not waited for any longer when the call ends meanwhile", async () => {
    const caller = new AbortController();
    const waiting = rejection(readyInTime(new Promise(() => undefined), late, bounds(caller.signal), SUBJECT));
    caller.abort(new Error("left"));
    expect(await waiting).toMatchObject({ code: "aborted", cause: { message: "left" } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["is ready", async () => 7],
    ["failed", async () => Promise.reject(new Error("no"))],
    ["comes too late", async () => new Promise(() => undefined)],
  ])("leaves no timer and no listener where it %s, and makes no signal", async (_, prepare) => {
    const { signal } = new AbortController();
    const made = vi.spyOn(globalThis, "AbortController");
    onTestFinished(() => made.mockRestore());
    const settled = readyInTime<unknown>(prepare(), late, bounds(signal), SUBJECT).catch(() => undefined);
    await vi.advanceTimersByTimeAsync(900);
    await settled;
    expect(made).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
