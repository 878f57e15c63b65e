import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createEarlyRenewal, type EarlyRenewal } from "../src/early-renewal.ts";
import type * as sourceFiles from "../src/source-files.ts";

/** When the files of the source can be read. */
const files = vi.hoisted(() => ({ ready: Promise.resolve() }));
vi.mock("../src/source-files.ts", async (load) => ({
  ...(await load<typeof sourceFiles>()),
  untilFilesAnswer: () => files.ready,
}));

const MINUTE_MS = 60_000;
const opened: EarlyRenewal[] = [];

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 }));
afterEach(() => {
  vi.useRealTimers();
  files.ready = Promise.resolve();
  for (const renewal of opened.splice(0)) renewal.close();
});

function newRenewal(renewalMs?: number): EarlyRenewal {
  const renewal = createEarlyRenewal(renewalMs);
  opened.push(renewal);
  return renewal;
}

const passes = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

interface FakeClient {
  eagerRefreshThresholdMillis: number;
  credentials: Record<string, unknown>;
  getRequestHeaders(): Promise<Headers>;
}

/** A client of google-auth-library with a token that ends in so many minutes. `renew` does what its source does. */
function clientWith(minutes: number, renew: (client: FakeClient) => Promise<unknown> | undefined = () => undefined) {
  const asked = vi.fn<() => void>();
  const client: FakeClient = {
    eagerRefreshThresholdMillis: 5 * MINUTE_MS,
    credentials: { access_token: "first", expiry_date: Date.now() + minutes * MINUTE_MS, refresh_token: "placeholder" },
    async getRequestHeaders() {
      if (Number(this.credentials["expiry_date"]) - Date.now() <= this.eagerRefreshThresholdMillis) {
        asked();
        await renew(this);
      }
      return new Headers({ authorization: `Bearer ${String(this.credentials["access_token"])}` });
    },
  };
  return { client, auth: { cachedCredential: client }, asked };
}

const giveToken = async (client: FakeClient): Promise<void> => {
  client.credentials = { access_token: "second", expiry_date: Date.now() + 60 * MINUTE_MS };
};
const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error("made up"), { status: 503 }));

describe("a token", () => {
  test("is left alone until five minutes before its end", async () => {
    const { auth, asked } = clientWith(6, giveToken);
    const renewal = newRenewal();
    renewal.check(auth);
    await turn();
    expect(asked).not.toHaveBeenCalled();
    passes(MINUTE_MS);
    renewal.check(auth);
    await turn();
    expect(asked).toHaveBeenCalledTimes(1);
    expect(auth.cachedCredential.credentials).toMatchObject({ access_token: "second" });
  });

  test("is renewed once the files of its source can be read", async () => {
    let answer = (): void => undefined;
    files.ready = new Promise((resolve) => (answer = resolve));
    const { auth, asked } = clientWith(4, giveToken);
    newRenewal().check(auth);
    await turn();
    expect(asked).not.toHaveBeenCalled();
    answer();
    await turn();
    expect(asked).toHaveBeenCalledOnce();
  });

  test("is used by calls while it is renewed, and by the client's own rule at its end", async () => {
    const { auth, client, asked } = clientWith(4, () => new Promise(() => {}));
    newRenewal().check(auth);
    await turn();
    expect(asked).toHaveBeenCalledTimes(1);
    expect((await client.getRequestHeaders()).get("authorization")).toBe("Bearer first");
    expect(asked).toHaveBeenCalledTimes(1);
    passes(4 * MINUTE_MS - 9_000);
    void client.getRequestHeaders();
    expect(asked).toHaveBeenCalledTimes(2);
  });

  test("is renewed once at a time, and once in five seconds", async () => {
    const { auth, asked } = clientWith(4, refuse);
    const renewal = newRenewal();
    for (let call = 0; call < 3; call += 1) renewal.check(auth);
    await turn();
    passes(4_999);
    renewal.check(auth);
    await turn();
    expect(asked).toHaveBeenCalledTimes(1);
    passes(1);
    renewal.check(auth);
    await turn();
    expect(asked).toHaveBeenCalledTimes(2);
  });

  test("that cannot be renewed is told to the operator, until it is", async () => {
    let source: (client: FakeClient) => Promise<void> = refuse;
    const { auth } = clientWith(4, (client) => source(client));
    const renewal = newRenewal();
    expect(renewal.trouble()).toBeUndefined();
    renewal.check(auth);
    await turn();
    expect(renewal.trouble()).toMatch(
      /^the token cannot be replaced since .*Z \(unavailable\); calls fail when it ends$/,
    );
    source = giveToken;
    passes(5_000);
    renewal.check(auth);
    await turn();
    expect(renewal.trouble()).toBeUndefined();
  });

  test("that a call has renewed is no trouble any more", async () => {
    const { auth, client } = clientWith(4, refuse);
    const renewal = newRenewal();
    renewal.check(auth);
    await turn();
    expect(renewal.trouble()).toBeDefined();
    await giveToken(client);
    renewal.check(auth);
    expect(renewal.trouble()).toBeUndefined();
  });

  test("whose renewal hangs is renewed again after a while", async () => {
    const { auth, asked } = clientWith(4, () => new Promise(() => {}));
    const renewal = newRenewal(20);
    renewal.check(auth);
    await vi.waitFor(() => expect(renewal.trouble()).toContain("(timeout)"), { timeout: 30_000 });
    passes(5_000);
    renewal.check(auth);
    await turn();
    expect(asked).toHaveBeenCalledTimes(2);
  });

  test.each<[how: string, renew: (client: FakeClient) => void]>([
    ["in another object", (client) => (client.credentials = { token_type: "Bearer", expiry_date: 1 })],
    ["in the same object", (client) => Object.assign(client.credentials, { access_token: undefined, expiry_date: 1 })],
  ])("stays in use after an answer without one, which the client keeps %s", async (_how, renew) => {
    const { auth, client } = clientWith(4, async (asking) => renew(asking));
    const before = { ...client.credentials };
    const renewal = newRenewal();
    renewal.check(auth);
    await turn();
    expect(client.credentials).toEqual(before);
    // Where it kept none, none is put.
    expect(client).not.toHaveProperty("cachedAccessToken");
    expect(renewal.trouble()).toContain("(unavailable)");
  });

  test("of a signer that was closed is not renewed", async () => {
    const { auth, asked } = clientWith(4, giveToken);
    const renewal = newRenewal();
    renewal.close();
    renewal.check(auth);
    await turn();
    expect(asked).not.toHaveBeenCalled();
  });
});

test("a token in the cache of an external account is renewed too", async () => {
  const { client, asked } = clientWith(4, giveToken);
  newRenewal().check({ cachedCredential: { ...client, cachedAccessToken: client.credentials } });
  await turn();
  expect(asked).toHaveBeenCalledTimes(1);
});

test("credentials that are no token with an end are the client's affair", () => {
  const { client } = clientWith(4, refuse);
  const others: readonly unknown[] = [
    undefined,
    {},
    { cachedCredential: null },
    { cachedCredential: { ...client, credentials: {} } },
    { cachedCredential: { ...client, credentials: { access_token: "never ends" } } },
    // A key file: the client signs its tokens itself.
    { cachedCredential: { ...client, credentials: { refresh_token: "jwt-placeholder", expiry_date: 1 } } },
    { cachedCredential: { credentials: client.credentials } },
  ];
  const renewal = newRenewal();
  for (const auth of others) renewal.check(auth);
  expect(renewal.trouble()).toBeUndefined();
  for (const auth of others.filter((other) =>
    Reflect.has(Object(Reflect.get(Object(other), "cachedCredential")), "getRequestHeaders"),
  )) {
    expect(auth).toMatchObject({ cachedCredential: { eagerRefreshThresholdMillis: 5 * MINUTE_MS } });
  }
});
