import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { readInstant } from "@signpost/core/adapter";
import { createLeasedToken } from "../src/leased-token.ts";
import type { TokenMaker } from "../src/logins.ts";
import type { Lease } from "../src/token-calls.ts";
import { rejection } from "./support/signatures.ts";

// How long the tokens of logins are used, renewed and waited for, to the millisecond.

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => {
  vi.useRealTimers();
});

const { signal } = new AbortController();
const never = async (): Promise<never> => new Promise<never>(() => undefined);
const wait = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};
const leaseOf = (token: string, leaseMs = 3_600_000, renewable = true): Lease => ({
  token,
  leaseMs,
  since: readInstant(),
  renewable,
});

describe("a token of a login", () => {
  /** A maker of numbered tokens. */
  const numbered = (
    others: Partial<TokenMaker> = {},
  ): { maker: TokenMaker; made: () => number; readonly revoked: string[] } => {
    let made = 0;
    const revoked: string[] = [];
    const maker: TokenMaker = {
      make: async () => leaseOf(`token-${(made += 1)}`),
      renew: undefined,
      revoke: async (token) => void revoked.push(token),
      ...others,
    };
    return { maker, made: () => made, revoked };
  };

  test.each([
    [4999, 1],
    [5000, 2],
  ])("that was replaced is replaced again only after 5 s: after %i ms there were %i", async (afterMs, replacements) => {
    const { maker, made, revoked } = numbered();
    const tokens = createLeasedToken(maker);
    const first = await tokens.token(signal);
    const second = await tokens.another(first, signal);
    await wait(afterMs);
    const third = await tokens.another(second, signal);
    expect(made()).toBe(1 + replacements);
    expect(third).toBe(replacements === 1 ? undefined : "token-3");
    expect(revoked).toEqual(["token-1", "token-2"].slice(0, replacements));
    expect(await tokens.another("token-0", signal)).toBe(`token-${made()}`);
  });

  test.each([
    [4999, 1],
    [5000, 2],
  ])("that was refused is asked for again only after 5 s: after %i ms, %i times", async (afterMs, times) => {
    const refused = new SignerError("access_denied", "no");
    const make = vi.fn<() => Promise<Lease>>(() => Promise.reject(refused));
    const tokens = createLeasedToken(numbered({ make }).maker);
    expect(await rejection(tokens.token(signal))).toBe(refused);
    await wait(afterMs);
    expect(await rejection(tokens.token(signal))).toBe(refused);
    expect(make).toHaveBeenCalledTimes(times);
  });

  test("is used to its end, and then replaced, if no renewal succeeds", async () => {
    const { maker, made } = numbered({ renew: () => Promise.reject(new SignerError("unavailable", "down")) });
    const make = async (): Promise<Lease> => ({ ...(await maker.make()), leaseMs: 9000 });
    const tokens = createLeasedToken({ ...maker, make });
    await tokens.token(signal);
    expect(tokens.trouble()).toBeUndefined();
    await wait(8999);
    expect(await tokens.token(signal)).toBe("token-1");
    expect(tokens.trouble()).toMatch(/^the token cannot be renewed since /);
    await wait(1);
    expect(await tokens.token(signal)).toBe("token-2");
    expect([made(), tokens.trouble()]).toEqual([2, undefined]);
    await tokens.close();
  });

  test.each<[what: string, renewed: () => Promise<Lease>, logins: readonly [number, number]]>([
    ["as long as it can be made as long as at first", async () => leaseOf("token-1", 9000), [1, 1]],
    ["until it can only be made shorter", async () => leaseOf("token-1", 8999), [1, 2]],
    ["until that is refused", () => Promise.reject(new SignerError("access_denied", "no")), [2, 3]],
  ])("is renewed at two thirds, %s", async (_what, renewed, logins) => {
    const renew = vi.fn<(token: string) => Promise<Lease>>(renewed);
    const { maker, made } = numbered({ renew });
    const make = async (): Promise<Lease> => ({ ...(await maker.make()), leaseMs: 9000 });
    const tokens = createLeasedToken({ ...maker, make });
    await tokens.token(signal);
    await wait(5999);
    expect(renew).not.toHaveBeenCalled();
    await wait(1);
    expect(renew.mock.calls).toEqual([["token-1"]]);
    expect(made()).toBe(logins[0]);
    // Timers may fire a little late.
    await wait(6020);
    expect(made()).toBe(logins[1]);
    await tokens.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that is not renewable is replaced at two thirds, without asking", async () => {
    const renew = vi.fn<(token: string) => Promise<Lease>>(never);
    const { maker, made } = numbered({ renew });
    const make = async (): Promise<Lease> => ({ ...(await maker.make()), leaseMs: 3000, renewable: false });
    const tokens = createLeasedToken({ ...maker, make });
    await tokens.token(signal);
    await wait(2000);
    expect([made(), renew.mock.calls.length]).toEqual([2, 0]);
    await tokens.close();
  });

  test("is not revoked before there is another one", async () => {
    let arrive = (_lease: Lease): void => undefined;
    const { maker, revoked } = numbered();
    const make = vi.fn<() => Promise<Lease>>(maker.make);
    const tokens = createLeasedToken({ ...maker, make });
    expect(await tokens.token(signal)).toBe("token-1");
    make.mockImplementationOnce(() => new Promise((resolve) => (arrive = resolve)));
    const another = tokens.another("token-1", signal);
    await wait(0);
    expect(revoked).toEqual([]);
    arrive(leaseOf("next"));
    expect(await another).toBe("next");
    expect(revoked).toEqual(["token-1"]);
    await wait(5000);
    make.mockRejectedValueOnce(new SignerError("unavailable", "down"));
    expect(await rejection(tokens.another("next", signal))).toMatchObject({ code: "unavailable" });
    // It may still be good for other calls, whose token it is.
    expect(revoked).toEqual(["token-1"]);
    await tokens.close();
  });

  test("whose renewal ends after it was replaced stays replaced", async () => {
    let renewed = (_lease: Lease): void => undefined;
    const { maker } = numbered({ renew: () => new Promise((resolve) => (renewed = resolve)) });
    const make = async (): Promise<Lease> => ({ ...(await maker.make()), leaseMs: 3000 });
    const tokens = createLeasedToken({ ...maker, make });
    await tokens.token(signal);
    await wait(2000);
    expect(await tokens.another("token-1", signal)).toBe("token-2");
    renewed(leaseOf("token-1", 3000));
    await wait(0);
    expect(await tokens.token(signal)).toBe("token-2");
    await tokens.close();
  });

  test("that is on its way is waited for by closing for 900 ms", async () => {
    const { maker } = numbered({ make: never });
    const tokens = createLeasedToken(maker);
    tokens.token(signal).catch(() => undefined);
    let isClosed = false;
    void tokens.close().then(() => (isClosed = true));
    await wait(899);
    expect(isClosed).toBe(false);
    await wait(1);
    expect(isClosed).toBe(true);
  });

  test("that arrives while closing waits is revoked before closing ends", async () => {
    let arrive = (_lease: Lease): void => undefined;
    const { maker, revoked } = numbered({ make: () => new Promise((resolve) => (arrive = resolve)) });
    const tokens = createLeasedToken(maker);
    const call = tokens.token(signal);
    const closing = tokens.close();
    arrive(leaseOf("late"));
    await closing;
    expect(revoked).toEqual(["late"]);
    expect(await call).toBe("late");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is not waited for by a call that was aborted, and is there for the next one", async () => {
    let arrive = (_lease: Lease): void => undefined;
    const tokens = createLeasedToken(numbered({ make: () => new Promise((resolve) => (arrive = resolve)) }).maker);
    const caller = new AbortController();
    const first = rejection(tokens.token(caller.signal));
    const second = tokens.token(signal);
    caller.abort(new Error("gone"));
    expect(await first).toBeDefined();
    arrive(leaseOf("one"));
    expect(await second).toBe("one");
    await tokens.close();
  });
});
