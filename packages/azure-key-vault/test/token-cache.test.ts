import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { AskForToken, GivenToken } from "../src/credential.ts";
import { createTokenCache } from "../src/token-cache.ts";
import { rejection } from "./support/signatures.ts";

const { signal } = new AbortController();
const TARGET = { scope: "s", tenantId: "t" };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

const past = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const forever = { lifeMs: Infinity, renewAfterMs: Infinity };

/** A credential whose tokens are numbered. */
function numbered(times: Omit<GivenToken, "token"> = forever): ReturnType<typeof vi.fn<AskForToken>> {
  let count = 0;
  return vi.fn<AskForToken>(async () => ({ token: `token-${(count += 1)}`, ...times }));
}

test("a token is asked for once by calls that need it, for the target", async () => {
  const ask = numbered();
  const cache = createTokenCache(ask, TARGET, 1000);
  expect(await Promise.all([cache.token(signal), cache.token(signal)])).toEqual(["token-1", "token-1"]);
  expect(await cache.token(signal)).toBe("token-1");
  expect(ask.mock.calls).toEqual([[{ ...TARGET, claims: undefined }]]);
});

describe("a token with an end", () => {
  test("is renewed at its time, while calls go on with it", async () => {
    const ask = numbered({ lifeMs: 60_000, renewAfterMs: 30_000 });
    const cache = createTokenCache(ask, TARGET, 1000);
    await cache.token(signal);
    await past(29_999);
    expect(await cache.token(signal)).toBe("token-1");
    expect(ask).toHaveBeenCalledTimes(1);
    await past(1);
    expect(await cache.token(signal)).toBe("token-1");
    expect(ask).toHaveBeenCalledTimes(2);
    await past(0);
    expect(await cache.token(signal)).toBe("token-2");
  });

  test("is waited for at its end", async () => {
    const ask = numbered({ lifeMs: 60_000, renewAfterMs: Infinity });
    const cache = createTokenCache(ask, TARGET, 1000);
    await cache.token(signal);
    await past(59_999);
    expect(await cache.token(signal)).toBe("token-1");
    await past(1);
    expect(await cache.token(signal)).toBe("token-2");
  });

  test("that is sooner than 5 s is used for 5 s, because a clock may be wrong", async () => {
    const ask = numbered({ lifeMs: -1, renewAfterMs: -1 });
    const cache = createTokenCache(ask, TARGET, 1000);
    await cache.token(signal);
    await past(4999);
    expect(await cache.token(signal)).toBe("token-1");
    await past(1);
    expect(await cache.token(signal)).toBe("token-2");
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test("whose renewal fails is renewed again after 5 s, with a note until then", async () => {
    const ask = numbered({ lifeMs: 60_000, renewAfterMs: 30_000 });
    const cache = createTokenCache(ask, TARGET, 1000);
    await cache.token(signal);
    await past(30_000);
    ask.mockRejectedValueOnce(new SignerError("unavailable", "down"));
    expect(cache.trouble()).toBeUndefined();
    await cache.token(signal);
    await past(0);
    expect(cache.trouble()).toContain("the token cannot be replaced");
    await past(4999);
    await cache.token(signal);
    expect(ask).toHaveBeenCalledTimes(2);
    await past(1);
    await cache.token(signal);
    await past(0);
    expect([ask.mock.calls.length, await cache.token(signal), cache.trouble()]).toEqual([3, "token-2", undefined]);
  });
});

describe("a credential that refuses", () => {
  test("is asked again after 5 s", async () => {
    const ask = numbered();
    ask.mockRejectedValueOnce(new SignerError("access_denied", "no"));
    const cache = createTokenCache(ask, TARGET, 1000);
    await rejection(cache.token(signal));
    await past(4999);
    expect(await rejection(cache.token(signal))).toMatchObject({ code: "access_denied" });
    expect(ask).toHaveBeenCalledTimes(1);
    await past(1);
    expect(await cache.token(signal)).toBe("token-1");
  });

  test("for a while is asked again at once", async () => {
    const ask = numbered();
    ask.mockRejectedValueOnce(new SignerError("unavailable", "down")).mockRejectedValueOnce(new Error("x"));
    const cache = createTokenCache(ask, TARGET, 1000);
    for (let count = 0; count < 2; count += 1) await rejection(cache.token(signal));
    expect(await cache.token(signal)).toBe("token-1");
  });

  test("to answer is waited for as long as the call may", async () => {
    const cache = createTokenCache(() => new Promise(() => {}), TARGET, 1000);
    const waiting = rejection(cache.token(signal));
    await past(1000);
    expect(await waiting).toMatchObject({
      code: "timeout",
      message: "the credential has given no token within 1000 ms",
    });
  });
});

describe("a token that the vault refuses", () => {
  test("is replaced, and the next one that it refuses only after 5 s", async () => {
    const ask = numbered();
    const cache = createTokenCache(ask, TARGET, 1000);
    await cache.token(signal);
    expect(await cache.another("token-1", undefined, signal)).toBe("token-2");
    await past(4999);
    expect(await cache.another("token-2", undefined, signal)).toBeUndefined();
    expect(ask).toHaveBeenCalledTimes(2);
    // For other claims at once.
    expect(await cache.another("token-2", "{}", signal)).toBe("token-3");
    expect(ask).toHaveBeenLastCalledWith({ ...TARGET, claims: "{}" });
    await past(5000);
    expect(await cache.another("token-3", "{}", signal)).toBe("token-4");
  });

  test("after it was accepted is replaced at once", async () => {
    const cache = createTokenCache(numbered(), TARGET, 1000);
    await cache.token(signal);
    await cache.another("token-1", undefined, signal);
    cache.accepted("another");
    expect(await cache.another("token-2", undefined, signal)).toBeUndefined();
    cache.accepted("token-2");
    expect(await cache.another("token-2", undefined, signal)).toBe("token-3");
  });

  test("and was replaced before gives the one in use", async () => {
    const ask = numbered();
    const cache = createTokenCache(ask, TARGET, 1000);
    await cache.token(signal);
    await cache.another("token-1", undefined, signal);
    expect(await cache.another("token-1", undefined, signal)).toBe("token-2");
    expect(ask).toHaveBeenCalledTimes(2);
  });

  test("and is all that the credential has, is not sent again", async () => {
    const cache = createTokenCache(async () => ({ token: "same", ...forever }), TARGET, 1000);
    await cache.token(signal);
    expect(await cache.another("same", undefined, signal)).toBeUndefined();
    expect(await cache.token(signal)).toBe("same");
  });

  test("while a credential failed, is asked for again at once", async () => {
    const ask = numbered();
    const cache = createTokenCache(ask, TARGET, 1000);
    await cache.token(signal);
    ask.mockRejectedValueOnce(new SignerError("unavailable", "down"));
    await rejection(cache.another("token-1", undefined, signal));
    expect(await cache.another("token-1", undefined, signal)).toBe("token-2");
  });
});

test("calls that need any token wait for the one with claims that is on its way", async () => {
  const ask = numbered();
  const cache = createTokenCache(ask, TARGET, 1000);
  await cache.token(signal);
  const withClaims = cache.another("token-1", "{}", signal);
  const any = cache.token(signal);
  expect(await Promise.all([withClaims, any])).toEqual(["token-2", "token-2"]);
  expect(ask).toHaveBeenCalledTimes(2);
});

test("a call that needs claims does not take the token that is on its way without them", async () => {
  const ask = numbered();
  const cache = createTokenCache(ask, TARGET, 1000);
  const any = cache.token(signal);
  const withClaims = cache.another("token-0", "{}", signal);
  const withOthers = cache.another("token-0", "[]", signal);
  expect(await Promise.all([any, withClaims, withOthers])).toEqual(["token-1", "token-2", "token-3"]);
  expect(ask.mock.calls.map(([{ claims }]) => claims)).toEqual([undefined, "{}", "[]"]);
});
