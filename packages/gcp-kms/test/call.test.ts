import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { CallBounds } from "@signpost/core/adapter";
import type { GcpKmsClientLike, GcpKmsVersionResponse } from "../src/api.ts";
import { callOnce } from "../src/call.ts";
import type { Connection } from "../src/connection.ts";

/** Only the timers and the monotonic clock: promises run as usual. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const NAME = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
const never = async (): Promise<never> => new Promise<never>(() => undefined);

const refuse = async (): Promise<never> => Promise.reject(new Error("not of this test"));
const CLIENT: GcpKmsClientLike = {
  initialize: refuse,
  getPublicKey: refuse,
  asymmetricSign: refuse,
  getCryptoKeyVersion: refuse,
  listCryptoKeyVersions: refuse,
  close: refuse,
};

/** One call, and what it has settled with so far. */
function begin(
  answers: { readonly call: () => Promise<unknown>; readonly lookUp?: () => Promise<readonly [GcpKmsVersionResponse]> },
  { name = NAME, timeoutMs = 2000, action = "sign with" } = {},
): {
  readonly settled: readonly unknown[];
  readonly caller: AbortController;
  readonly lookUps: readonly CallBounds[];
  readonly getCryptoKeyVersion: ReturnType<typeof vi.fn<GcpKmsClientLike["getCryptoKeyVersion"]>>;
} {
  const settled: unknown[] = [];
  const lookUps: CallBounds[] = [];
  const getCryptoKeyVersion = vi.fn<GcpKmsClientLike["getCryptoKeyVersion"]>(answers.lookUp ?? refuse);
  const client: GcpKmsClientLike = { ...CLIENT, getCryptoKeyVersion };
  let calls = 0;
  const connection: Connection = {
    call: async (bounds, _subject, call) => {
      calls += 1;
      if (calls > 1) lookUps.push(bounds);
      return call(client, { timeout: bounds.timeoutMs, retry: null });
    },
    trouble: () => undefined,
    close: async () => undefined,
  };
  const caller = new AbortController();
  callOnce(connection, { action, name }, { timeoutMs, signal: caller.signal }, async () => [await answers.call()]).then(
    (value) => settled.push(value),
    (error: unknown) => settled.push(error),
  );
  return { settled, caller, lookUps, getCryptoKeyVersion };
}

const advance = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};

describe("a call whose signal has aborted", () => {
  test("and that does not end is left after 900 ms, with the reason of the signal", async () => {
    const { settled, caller } = begin({ call: never });
    await advance(5000);
    const reason = new SignerError("timeout", "no answer in time");
    caller.abort(reason);
    await advance(899);
    expect(settled).toEqual([]);
    await advance(1);
    expect(settled).toEqual([reason]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["answers", async () => "late"],
    ["fails", async () => Promise.reject(new Error("cut"))],
  ])("and then %s is not waited for any longer", async (_what, end) => {
    let finish = (): void => undefined;
    const call = async (): Promise<unknown> => {
      await new Promise<void>((resolve) => (finish = resolve));
      return end();
    };
    const { settled, caller } = begin({ call });
    await advance(0);
    caller.abort(new Error("gone"));
    finish();
    await advance(0);
    expect(settled).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("before it answered, and which fails, says why it was aborted", async () => {
    let fail = (_error: Error): void => undefined;
    const { settled, caller } = begin({ call: () => new Promise((_resolve, reject) => (fail = reject)) });
    await advance(0);
    caller.abort(new Error("gone"));
    fail(Object.assign(new Error("1 CANCELLED"), { code: 1 }));
    await advance(0);
    expect(settled).toMatchObject([{ code: "aborted", cause: { message: "gone" } }]);
  });
});

describe("a refusal that does not say why", () => {
  const FAILED = Object.assign(new Error("9 FAILED_PRECONDITION: no"), { code: 9 });
  const INVALID = Object.assign(new Error("3 INVALID_ARGUMENT: no"), { code: 3 });
  const refusing = (error: Error) => async (): Promise<never> => {
    throw error;
  };
  const VERSION = { name: NAME, state: "DESTROYED", algorithm: "EC_SIGN_P256_SHA256" };

  test.each([
    [60_000, 0, 500],
    [1001, 0, 500],
    [1000, 0, 500],
    [999, 0, 499],
    [2000, 1500, 250],
    [3, 0, 1],
    [2, 0, 1],
    [1, 0, 1],
    [100, 200, 1],
  ])("of a call of %d ms after %d ms is looked up within %d ms", async (timeoutMs, afterMs, expected) => {
    const call = async (): Promise<never> => {
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      throw FAILED;
    };
    const { settled, lookUps } = begin({ call, lookUp: never }, { timeoutMs });
    await advance(afterMs);
    expect(lookUps).toMatchObject([{ timeoutMs: expected }]);
    await advance(expected - 1);
    expect(settled).toEqual([]);
    expect(lookUps[0]?.signal.aborted).toBe(false);
    await advance(1);
    expect(settled).toMatchObject([{ code: "key_disabled" }]);
    expect(lookUps[0]?.signal.aborted).toBe(true);
  });

  test.each<[what: string, error: Error, version: GcpKmsVersionResponse, code: string, text: string]>([
    ["its state", FAILED, VERSION, "key_disabled", `cannot sign with ${NAME}: the version is DESTROYED`],
    [
      "no state that changes the meaning of another status",
      INVALID,
      VERSION,
      "invalid_argument",
      `cannot sign with ${NAME}: the service refused the request (INVALID_ARGUMENT)`,
    ],
    [
      "its algorithm, before its state",
      FAILED,
      { ...VERSION, algorithm: "RSA_SIGN_PSS_2048_SHA256" },
      "unsupported_key",
      `${NAME} has the algorithm RSA_SIGN_PSS_2048_SHA256, expected EC_SIGN_P256_SHA256`,
    ],
    [
      "its algorithm, for a request that was refused",
      INVALID,
      { ...VERSION, algorithm: "RSA_SIGN_PSS_2048_SHA256" },
      "unsupported_key",
      `${NAME} has the algorithm RSA_SIGN_PSS_2048_SHA256, expected EC_SIGN_P256_SHA256`,
    ],
    [
      "nothing without an algorithm that can be read",
      FAILED,
      { ...VERSION, algorithm: undefined },
      "key_disabled",
      `cannot sign with ${NAME}: the version is DESTROYED`,
    ],
    [
      "nothing of another version",
      FAILED,
      { ...VERSION, name: NAME.replace(/3$/, "4") },
      "key_disabled",
      `cannot sign with ${NAME}: the version is not enabled (FAILED_PRECONDITION)`,
    ],
  ])("is explained by %s", async (_what, error, version, code, message) => {
    const { settled, lookUps, getCryptoKeyVersion } = begin({ call: refusing(error), lookUp: async () => [version] });
    await advance(0);
    expect(lookUps).toHaveLength(1);
    expect(getCryptoKeyVersion.mock.calls).toEqual([[{ name: NAME }, { timeout: lookUps[0]?.timeoutMs, retry: null }]]);
    expect(settled).toMatchObject([{ code, message }]);
  });

  test.each<[what: string, error: Error, name?: string]>([
    ["if it names the state", Object.assign(new Error("current state is: DISABLED"), { code: 9 })],
    ["of another status", Object.assign(new Error("7 PERMISSION_DENIED: no"), { code: 7 })],
    ["because of a damaged digest", Object.assign(new Error("digest_crc32c did not match"), { code: 3 })],
    ["about a key without a version", FAILED, "projects/p/locations/l/keyRings/r/cryptoKeys/k"],
  ])("is not looked up %s", async (_what, error, name = NAME) => {
    const { settled, lookUps } = begin({ call: refusing(error) }, { name });
    await advance(0);
    expect(lookUps).toEqual([]);
    expect(settled).toHaveLength(1);
  });

  test("says what it can if the look-up fails", async () => {
    const { settled } = begin({ call: refusing(FAILED) });
    await advance(0);
    expect(settled).toMatchObject([{ code: "key_disabled", message: expect.stringContaining("FAILED_PRECONDITION") }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("whose look-up the caller ends is reported as it came", async () => {
    const { settled, caller, lookUps } = begin({ call: refusing(FAILED), lookUp: never });
    await advance(0);
    caller.abort(new Error("gone"));
    await advance(0);
    expect(lookUps[0]?.signal.aborted).toBe(true);
    expect(settled).toMatchObject([{ code: "key_disabled" }]);
  });
});

test("an error of ours stays as it is, and the first item of an answer is the response", async () => {
  const error = new SignerError("closed", "closed");
  const failed = begin({ call: async () => Promise.reject(error) });
  const answered = begin({ call: async () => "answer" });
  await advance(0);
  expect(failed.settled).toEqual([error]);
  expect(answered.settled).toEqual(["answer"]);
});
