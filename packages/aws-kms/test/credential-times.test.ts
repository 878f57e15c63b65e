import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AwsKmsApi } from "@signpost/aws-kms";
import { CredentialsError } from "../src/credential-errors.ts";
import { createCredentialSource, type CredentialProvider } from "../src/credential-source.ts";
import { withRenewedCredentials } from "../src/credentials.ts";
import { withKnownSources } from "../src/known-sources.ts";

// How long credentials are waited for and when they are asked for again, to the millisecond.

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

const wait = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};
const never = async (): Promise<never> => new Promise<never>(() => undefined);

describe("a source of credentials", () => {
  /** A source, and how its providers answer, by their number. */
  function sourceWith(
    answers: Readonly<Record<number, CredentialProvider<string>>>,
    patienceMs = 1000,
    ended?: AbortSignal,
  ): { source: CredentialProvider<string>; readonly made: () => number; ask: () => unknown[] } {
    let made = 0;
    const source = createCredentialSource<string>(
      () => {
        const number = (made += 1);
        return answers[number] ?? never;
      },
      patienceMs,
      ended,
    );
    const ask = (): unknown[] => {
      const settled: unknown[] = [];
      source().then(
        (identity) => settled.push(identity),
        (error: unknown) => settled.push(error),
      );
      return settled;
    };
    return { source, made: () => made, ask };
  }

  test("is waited for as long as it may take, and not longer", async () => {
    const { ask } = sourceWith({});
    const settled = ask();
    await wait(999);
    expect(settled).toEqual([]);
    await wait(1);
    expect(settled).toMatchObject([
      { name: "CredentialsError", row: { code: "timeout", text: "no credentials within 1000 ms" } },
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["soon", 999, 1],
    ["after its time", 1000, 2],
  ])("that hangs and is asked again %s has another provider only then", async (_when, afterMs, providers) => {
    const { ask, made } = sourceWith({});
    ask();
    await wait(afterMs);
    ask();
    expect(made()).toBe(providers);
  });

  test("that keeps hanging gets twice the time with each provider, up to 30 s", async () => {
    const { ask, made } = sourceWith({});
    let providers = 1;
    for (const patienceMs of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      ask();
      await wait(patienceMs - 1);
      ask();
      expect(made()).toBe(providers);
      await wait(1);
      ask();
      expect(made()).toBe((providers += 1));
    }
  });

  test("that answers late is used again, and needs no other one", async () => {
    let answer = (_identity: string): void => undefined;
    const first = vi
      .fn<CredentialProvider<string>>()
      .mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)))
      .mockResolvedValue("first again");
    const { ask, made } = sourceWith({ 1: first });
    ask();
    await wait(1000);
    const second = ask();
    answer("first, late");
    await wait(0);
    expect(second).toEqual(["first, late"]);
    const third = ask();
    await wait(0);
    expect(third).toEqual(["first again"]);
    expect(made()).toBe(2);
    // The patience is that of the beginning.
    first.mockImplementation(never);
    ask();
    await wait(1000);
    ask();
    expect(made()).toBe(3);
  });

  test("is asked once by calls at the same time, and once more for newer credentials", async () => {
    const provider = vi.fn<CredentialProvider<string>>(async (options) => JSON.stringify(options));
    const { source } = sourceWith({ 1: provider });
    expect(
      await Promise.all([source(), source(), source({ forceRefresh: true }), source({ forceRefresh: true })]),
    ).toEqual([undefined, undefined, '{"forceRefresh":true}', '{"forceRefresh":true}']);
    expect(provider).toHaveBeenCalledTimes(2);
    await source();
    expect(provider).toHaveBeenCalledTimes(3);
  });

  test("that fails says so to those who ask it, and not to those who asked a newer one", async () => {
    let fail = (_error: Error): void => undefined;
    const { ask } = sourceWith({ 1: () => new Promise((_resolve, reject) => (fail = reject)) });
    ask();
    await wait(1000);
    const second = ask();
    fail(new Error("refused"));
    await wait(0);
    expect(second).toEqual([]);
    await wait(1000);
    expect(second).toMatchObject([{ row: { code: "timeout" } }]);
  });

  test("of a client that is closed is asked no more", async () => {
    const closing = new AbortController();
    const provider = vi.fn<CredentialProvider<string>>(async () => "identity");
    const { ask } = sourceWith({ 1: provider }, 1000, closing.signal);
    closing.abort();
    const settled = ask();
    await wait(0);
    expect(settled).toMatchObject([{ row: { code: "unavailable", text: "no credentials: the client is closed" } }]);
    expect(provider).not.toHaveBeenCalled();
  });

  test("that hangs eight times is listened to, and then the oldest is left", async () => {
    const answers: ((identity: string) => void)[] = [];
    const hanging: CredentialProvider<string> = () => new Promise((resolve) => answers.push(resolve));
    const hangingAll = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [index + 1, hanging]));
    const { ask } = sourceWith(hangingAll, 30_000);
    for (let asked = 0; asked < 9; asked += 1) {
      ask();
      await wait(30_000);
    }
    // Nine have hung when the tenth is asked, of which the first is left.
    const last = ask();
    answers[0]?.("the first");
    await wait(0);
    expect(last).toEqual([]);
    answers[1]?.("the second");
    await wait(0);
    expect(last).toEqual(["the second"]);
  });
});

describe("refused credentials", () => {
  const expired = Object.assign(new Error("expired"), { name: "ExpiredTokenException" });
  const input = { KeyId: "x" };
  const outcome = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);
  function renewing(
    getPublicKey: AwsKmsApi["getPublicKey"],
    renew: () => Promise<void> = async () => undefined,
  ): { readonly ask: () => Promise<unknown>; readonly renew: ReturnType<typeof vi.fn<() => Promise<void>>> } {
    const renewed = vi.fn<() => Promise<void>>(renew);
    const api = withRenewedCredentials({ getPublicKey, sign: async () => ({}) }, renewed);
    return { ask: () => outcome(api.getPublicKey(input, {})), renew: renewed };
  }

  test.each([
    [4999, 1],
    [5000, 2],
  ])("are renewed again after 5 s: after %i ms, %i times", async (afterMs, times) => {
    const { ask, renew } = renewing(() => Promise.reject(expired));
    expect(await ask()).toBe(expired);
    await wait(afterMs);
    const error = await ask();
    expect(renew).toHaveBeenCalledTimes(times);
    if (times === 2) return expect(error).toBe(expired);
    return expect(error).toMatchObject({
      name: "CredentialsError",
      message:
        "the credentials have expired or were refused, or this machine's clock is wrong (new ones were requested 4999 ms ago, and will be again 5000 ms after that)",
      row: { code: "access_denied" },
      cause: expired,
    });
  });

  test("that were accepted once are renewed at once", async () => {
    const calls = vi.fn<AwsKmsApi["getPublicKey"]>();
    const { ask, renew } = renewing(calls);
    calls
      .mockRejectedValueOnce(expired)
      .mockResolvedValueOnce({})
      .mockRejectedValueOnce(expired)
      .mockResolvedValueOnce({});
    expect(await ask()).toEqual({});
    await wait(1);
    expect(await ask()).toEqual({});
    expect(renew).toHaveBeenCalledTimes(2);
    await wait(1);
    calls.mockRejectedValueOnce(expired).mockRejectedValueOnce(expired).mockRejectedValueOnce(expired);
    expect(await ask()).toBe(expired);
    await wait(1);
    expect(await ask()).toMatchObject({ name: "CredentialsError" });
    expect(renew).toHaveBeenCalledTimes(3);
  });

  test.each<[what: string, error: Error, times: number]>([
    ["refuses", new CredentialsError({ code: "access_denied", text: "no" }, undefined), 1],
    ["is down", new CredentialsError({ code: "unavailable", text: "down" }, undefined), 2],
    ["fails in another way", new Error("failed"), 1],
  ])("whose source %s are asked for again by the next call: %#", async (_what, error, times) => {
    const { ask, renew } = renewing(
      () => Promise.reject(expired),
      () => Promise.reject(error),
    );
    expect(await ask()).toBe(error);
    await ask();
    expect(renew).toHaveBeenCalledTimes(times);
  });

  test("of calls at the same time are renewed once", async () => {
    let refusals = 3;
    const { ask, renew } = renewing(async () => {
      refusals -= 1;
      if (refusals >= 0) throw expired;
      return {};
    });
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([{}, {}, {}]);
    expect(renew).toHaveBeenCalledTimes(1);
  });
});

describe("a call whose credentials are refused", () => {
  const expired = Object.assign(new Error("expired"), { name: "ExpiredTokenException" });
  const key = { KeyId: "k" };
  const digest = { Message: new Uint8Array(32), MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;

  test("is made once more, with the same input and signal", async () => {
    const getPublicKey = vi.fn<AwsKmsApi["getPublicKey"]>().mockRejectedValueOnce(expired).mockResolvedValue(key);
    const sign = vi.fn<AwsKmsApi["sign"]>().mockRejectedValueOnce(expired).mockResolvedValue(key);
    const renew = vi.fn<() => Promise<void>>(async () => undefined);
    const api = withRenewedCredentials({ getPublicKey, sign }, renew);
    const options = { signal: new AbortController().signal };
    expect(await api.getPublicKey(key, options)).toBe(key);
    await wait(1);
    expect(await api.sign({ ...key, ...digest }, options)).toBe(key);
    expect(getPublicKey.mock.calls).toEqual([
      [key, options],
      [key, options],
    ]);
    expect(sign.mock.calls).toEqual([
      [{ ...key, ...digest }, options],
      [{ ...key, ...digest }, options],
    ]);
    expect(renew).toHaveBeenCalledTimes(2);
  });

  test("is not made again if it was aborted meanwhile", async () => {
    const caller = new AbortController();
    const getPublicKey = vi.fn<AwsKmsApi["getPublicKey"]>(() => Promise.reject(expired));
    const api = withRenewedCredentials({ getPublicKey, sign: async () => ({}) }, async () => caller.abort());
    await expect(api.getPublicKey(key, { signal: caller.signal })).rejects.toBe(expired);
    expect(getPublicKey).toHaveBeenCalledOnce();
  });

  test("for another reason is made once, and nothing is renewed", async () => {
    const denied = Object.assign(new Error("denied"), { name: "AccessDeniedException" });
    const getPublicKey = vi.fn<AwsKmsApi["getPublicKey"]>(() => Promise.reject(denied));
    const renew = vi.fn<() => Promise<void>>();
    const api = withRenewedCredentials({ getPublicKey, sign: async () => ({}) }, renew);
    await expect(api.getPublicKey(key, {})).rejects.toBe(denied);
    expect(getPublicKey).toHaveBeenCalledOnce();
    expect(renew).not.toHaveBeenCalled();
  });

  /** Calls that end when they are told, in the order in which they began. */
  function pendingCalls(): {
    readonly ask: () => Promise<unknown>;
    readonly ends: ((error?: Error) => void)[];
    renewals: () => number;
  } {
    const ends: ((error?: Error) => void)[] = [];
    const renew = vi.fn<() => Promise<void>>(async () => undefined);
    const getPublicKey = (): Promise<object> =>
      new Promise((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve(key) : reject(error)));
      });
    const api = withRenewedCredentials({ getPublicKey, sign: async () => ({}) }, renew);
    return {
      ask: () => api.getPublicKey(key, {}).catch((error: unknown) => error),
      ends,
      renewals: () => renew.mock.calls.length,
    };
  }

  test("that began before a renewal is made again without another one", async () => {
    const { ask, ends, renewals } = pendingCalls();
    const calls = [ask(), ask()];
    await wait(10);
    ends[0]?.(expired);
    await wait(10);
    ends[1]?.(expired);
    await wait(10);
    expect([ends.length, renewals()]).toEqual([4, 1]);
    ends[2]?.();
    ends[3]?.();
    expect(await Promise.all(calls)).toEqual([key, key]);
  });

  test("after an answer to one that began before the renewal, is not taken for rotated", async () => {
    const { ask, ends, renewals } = pendingCalls();
    const calls = [ask(), ask()];
    await wait(10);
    ends[0]?.(expired);
    await wait(10);
    // With the credentials of before.
    ends[1]?.();
    ends[2]?.(expired);
    await wait(10);
    expect(await Promise.all(calls)).toEqual([expired, key]);
    const last = ask();
    ends[3]?.(expired);
    expect(await last).toMatchObject({ name: "CredentialsError" });
    expect(renewals()).toBe(1);
  });
});

test("a question of a client of the caller is recorded with those at the same time", async () => {
  const denied = Object.assign(new Error("denied"), { name: "CredentialsProviderError" });
  const api = withKnownSources({ getPublicKey: () => Promise.reject(denied), sign: async () => ({ KeyId: "k" }) });
  await expect(api.getPublicKey({ KeyId: "k" }, {})).rejects.toMatchObject({ name: "CredentialsError", cause: denied });
  const digest = { Message: new Uint8Array(32), MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
  expect(await api.sign({ KeyId: "k", ...digest }, {})).toEqual({ KeyId: "k" });
  const other = new Error("other");
  const failing = withKnownSources({ getPublicKey: () => Promise.reject(other), sign: async () => ({}) });
  await expect(failing.getPublicKey({ KeyId: "k" }, {})).rejects.toBe(other);
});
