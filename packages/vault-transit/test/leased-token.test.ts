import { afterEach, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { readInstant } from "@signpost/core/adapter";
import { createCredentials, type Credentials, type WaitForToken } from "../src/credentials.ts";
import { createLeasedToken } from "../src/leased-token.ts";
import type { Lease, TokenCalls } from "../src/token-calls.ts";
import { rejection } from "./support/signatures.ts";

// What a signer does with it is in logins.test.ts. Here calls end in an order that a server does not give reliably.

const never = (): Promise<never> => new Promise(() => {});
const CALLS: TokenCalls = {
  describeLogin: () => "log in",
  logIn: never,
  renew: never,
  lookUp: never,
  revoke: async () => {},
};
/** A file that is not there. */
const MISSING = "/nowhere/token";

afterEach(() => {
  vi.useRealTimers();
});

test("a call that is refused after a login has failed logs in too, and is not denied", async () => {
  let logins = 0;
  const tokens = createLeasedToken({
    make: async () => {
      logins += 1;
      if (logins === 2) throw new SignerError("unavailable", "sealed");
      return { token: `token-${logins}`, leaseMs: 3_600_000, since: readInstant(), renewable: true };
    },
    renew: undefined,
    revoke: async () => {},
  });
  const { signal } = new AbortController();
  const token = await tokens.token(signal);
  // Two calls were sent with the token. The first is refused, and its login fails.
  expect(await rejection(tokens.another(token, signal))).toMatchObject({ code: "unavailable" });
  expect(await tokens.another(token, signal)).toBe("token-3");
  await tokens.close();
});

test.each([
  ["token", (fn: () => Promise<string>) => ({ method: "token", token: fn }) as const],
  ["secretId", (fn: () => Promise<string>) => ({ method: "approle", roleId: "r", secretId: fn }) as const],
])("a function auth.%s that never settles is given up after 10 s, and called again", async (name, authWith) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const source = vi.fn<() => Promise<string>>(() => new Promise(() => {}));
  const calls: TokenCalls = {
    describeLogin: () => "log in",
    logIn: async () => ({ token: "logged-in", leaseMs: 3_600_000, since: readInstant(), renewable: true }),
    renew: () => Promise.reject(new Error("unexpected")),
    lookUp: () => Promise.reject(new Error("unexpected")),
    revoke: async () => {},
  };
  const credentials = createCredentials(authWith(source), calls);
  const { signal } = new AbortController();
  const first = rejection(credentials.token(signal));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await first).toMatchObject({ code: "timeout", transient: true });
  expect(String(await first)).toContain(`auth.${name}: no answer within 10000 ms`);
  source.mockResolvedValue("logged-in");
  expect(await credentials.token(signal)).toBe("logged-in");
  expect(source).toHaveBeenCalledTimes(2);
  await credentials.close();
});

test("closing waits for a renewal that hangs and for the revocation at the same time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  const revoked: string[] = [];
  const tokens = createLeasedToken({
    make: async () => ({ token: "held", leaseMs: 3000, since: readInstant(), renewable: true }),
    renew: () => new Promise(() => {}),
    revoke: (token) => new Promise((resolve) => setTimeout(() => resolve(void revoked.push(token)), 900)),
  });
  await tokens.token(new AbortController().signal);
  await vi.advanceTimersByTimeAsync(2500);
  let isClosed = false;
  void tokens.close().then(() => (isClosed = true));
  await vi.advanceTimersByTimeAsync(950);
  expect({ isClosed, revoked }).toEqual({ isClosed: true, revoked: ["held"] });
});

test("a login that ends after closing has stopped waiting for it revokes its token", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const revoke = vi.fn<(token: string) => Promise<void>>(async () => {});
  const tokens = createLeasedToken({
    make: async () => {
      // Such as one that waited for the login of another signer with the same role.
      await answered;
      return { token: "late", leaseMs: 3_600_000, since: readInstant(), renewable: true };
    },
    renew: undefined,
    revoke,
  });
  const call = rejection(tokens.token(new AbortController().signal));
  const closing = tokens.close();
  await vi.advanceTimersByTimeAsync(900);
  await closing;
  answer();
  expect(await call).toMatchObject({ code: "closed" });
  expect(revoke.mock.calls).toEqual([["late"]]);
  expect(vi.getTimerCount()).toBe(0);
});

test("after closing there is no token, and no login for another one", async () => {
  const make = vi.fn<() => Promise<Lease>>(async () => ({
    token: "token-1",
    leaseMs: 3_600_000,
    since: readInstant(),
    renewable: true,
  }));
  const revoke = vi.fn<(token: string) => Promise<void>>(async () => {});
  const tokens = createLeasedToken({ make, renew: undefined, revoke });
  const { signal } = new AbortController();
  expect(await tokens.token(signal)).toBe("token-1");
  await tokens.close();
  expect(await rejection(tokens.token(signal))).toMatchObject({ code: "closed" });
  expect(await tokens.another("token-1", signal)).toBeUndefined();
  expect(make).toHaveBeenCalledTimes(1);
  expect(revoke.mock.calls).toEqual([["token-1"]]);
});

test("a login that failed for an unknown reason is made again at once, and a refused one is not", async () => {
  const make = vi.fn<() => Promise<Lease>>();
  const tokens = createLeasedToken({ make, renew: undefined, revoke: async () => {} });
  const { signal } = new AbortController();
  for (const error of [new TypeError("x"), new SignerError("access_denied", "no")]) {
    make.mockRejectedValueOnce(error);
    expect(await rejection(tokens.token(signal))).toBe(error);
  }
  expect(await rejection(tokens.token(signal))).toMatchObject({ code: "access_denied" });
  expect(make).toHaveBeenCalledTimes(2);
  await tokens.close();
});

test.each<[string, (wait: WaitForToken) => Credentials]>([
  ["a login", (wait) => createLeasedToken({ make: never, renew: undefined, revoke: async () => {} }, wait)],
  ["a function", (wait) => createCredentials({ method: "token", token: never }, CALLS, wait)],
  ["AppRole", (wait) => createCredentials({ method: "approle", roleId: "r", secretId: never }, CALLS, wait)],
  ["Kubernetes", (wait) => createCredentials({ method: "kubernetes", role: "r", jwtFile: MISSING }, CALLS, wait)],
  ["a file", (wait) => createCredentials({ method: "token-file", path: MISSING }, CALLS, wait)],
])("a call waits for the token of %s as it was told to", async (_what, make) => {
  const wait: WaitForToken = async (token) => {
    token.catch(() => {});
    throw new SignerError("timeout", "no token");
  };
  const tokens = make(wait);
  const { signal } = new AbortController();
  expect(await rejection(tokens.token(signal))).toMatchObject({ message: "no token" });
  expect(await rejection(tokens.another("refused", signal))).toMatchObject({ message: "no token" });
});
