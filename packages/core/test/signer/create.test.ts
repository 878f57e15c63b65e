import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLimiter, guardSigner, SignerError, type SignOptions } from "@signpost/core";
import { createSigner, endedError, onAbort } from "@signpost/core/adapter";
import { AttemptController } from "../../src/signer/attempt-controller.ts";
import { insideOf } from "../../src/signer/inside.ts";
import { failure } from "../support/failure.ts";
import { scriptedSigner, signsAfter } from "../support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);

function created() {
  const scripted = scriptedSigner(signsAfter(5));
  const seen: Uint8Array[] = [];
  const signer = createSigner({
    uri: "created:key",
    publicKey: scripted.signer.publicKey,
    signDigest: (digest, options) => {
      seen.push(digest);
      return scripted.signer.sign(digest, options);
    },
    close: scripted.signer.close,
  });
  return { signer, seen, closed: scripted.closed };
}

describe("createSigner", () => {
  test("passes the backend its own copy of the digest", async () => {
    const { signer, seen } = created();
    const digest = Uint8Array.from(DIGEST);
    const signature = signer.sign(digest);
    digest.fill(0);
    await signature;
    expect(seen).toEqual([DIGEST]);
  });

  test.each([31, 33, 0])("refuses a digest of %i bytes", async (length) => {
    const { signer, seen } = created();
    expect(await failure(signer.sign(new Uint8Array(length)))).toMatchObject({ code: "invalid_argument" });
    expect(seen).toEqual([]);
  });

  test.each([0, -1, 1.5, Number.NaN, 2 ** 31])(
    "refuses a call timeout of %d ms, which no timer keeps",
    (callTimeoutMs) => {
      const { publicKey } = scriptedSigner().signer;
      const backend = { uri: "test:key", publicKey, signDigest: async () => DIGEST, close: async () => {} };
      expect(() => createSigner({ ...backend, callTimeoutMs })).toThrow(
        expect.objectContaining({ name: "ConfigurationError", argument: "callTimeoutMs" }),
      );
    },
  );

  test.each<[argument: string, value: unknown, got: string]>([
    ["uri", undefined, "got undefined"],
    ["uri", 7, "got 7"],
    ["publicKey", undefined, "got undefined"],
    ["publicKey", null, "got null"],
    ["publicKey", "MFkw", "got a string"],
    ["publicKey", {}, "got an object without x"],
    ["publicKey", { x: 7 }, "got an object without x"],
    ["signDigest", undefined, "got undefined"],
    ["signDigest", "sign", "got a string"],
    ["close", undefined, "got undefined"],
    ["close", {}, "got an object"],
  ])("refuses a backend whose %s is %j, and says what it got", (argument, value, got) => {
    const { publicKey } = scriptedSigner().signer;
    const backend = { uri: "test:key", publicKey, signDigest: async () => DIGEST, close: async () => {} };
    expect(() => createSigner({ ...backend, [argument]: value })).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument, message: expect.stringMatching(`${got}$`) }),
    );
  });

  test("publishes the members of its key, and nothing else of it", () => {
    const { publicKey } = scriptedSigner().signer;
    const more = { ...publicKey, d: "secret" };
    const signer = createSigner({ uri: "t:", publicKey: more, signDigest: async () => DIGEST, close: async () => {} });
    expect(signer.publicKey).toStrictEqual(publicKey);
    expect(signer.publicKey).not.toBe(more);
    expect([Object.isFrozen(signer.publicKey), Object.isFrozen(signer)]).toEqual([true, true]);
  });

  test("refuses a signal that has aborted already", async () => {
    const { signer, seen } = created();
    const error = await failure(signer.sign(DIGEST, { signal: AbortSignal.abort("reason") }));
    expect(error).toMatchObject({ code: "aborted", cause: "reason" });
    expect(seen).toEqual([]);
  });

  test("makes no attempt of a guard that has ended already, or after it was closed", async () => {
    const { signer, seen } = created();
    const attempt = insideOf(signer)?.attempt;
    if (attempt === undefined) throw new Error("expected a signer of ours");
    const ended = new AttemptController();
    ended.abort(new SignerError("timeout", "no answer in time"));
    expect(await failure(attempt(DIGEST, undefined, ended))).toMatchObject({ code: "timeout", uri: "created:key" });
    await signer.close();
    expect(await failure(attempt(DIGEST, undefined, new AttemptController()))).toMatchObject({ code: "closed" });
    expect(seen).toEqual([]);
  });

  test("closes its backend once, after the calls in flight, and rejects later calls", async () => {
    const { signer, closed } = created();
    const inFlight = signer.sign(DIGEST);
    const closing = Promise.all([signer.close(), signer.close()]);
    expect(await failure(signer.sign(DIGEST))).toMatchObject({ code: "closed" });
    expect(closed()).toBe(0);
    await inFlight;
    await closing;
    expect(closed()).toBe(1);
  });
});

describe("what a call hands to its backend", () => {
  const { signal } = new AbortController();
  const signingInput = new TextEncoder().encode("header.claims");

  test.each([
    ["nothing", {}, []],
    ["a signal", { signal }, ["signal"]],
    ["a signing input", { signingInput }, ["signingInput"]],
    ["both", { signal, signingInput }, ["signal", "signingInput"]],
  ] as const)("is %s, if the caller gives that", async (_, given, names) => {
    const { signer } = scriptedSigner(signsAfter(0));
    const handed: SignOptions[] = [];
    const bare = createSigner({
      uri: "t:options",
      publicKey: signer.publicKey,
      signDigest: (digest, options) => {
        handed.push({ ...options });
        return signer.sign(digest);
      },
      close: signer.close,
    });
    await bare.sign(DIGEST, given);
    expect(handed.map((options) => Object.keys(options))).toEqual([names]);
    expect(handed).toStrictEqual([given]);
  });
});

describe("a call timeout", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Its backend answers after so many milliseconds, or rejects when the call ends. */
  function bounded({ answerMs }: { answerMs: number }) {
    const { signer } = scriptedSigner(
      (call) =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(() => resolve(call.sign()), answerMs);
          onAbort(call.signal, () => {
            clearTimeout(timer);
            reject(endedError(call.signal.reason));
          });
        }),
    );
    return createSigner({
      uri: "t:bounded",
      publicKey: signer.publicKey,
      signDigest: (digest, options) => signer.sign(digest, options),
      callTimeoutMs: 100,
      close: signer.close,
    });
  }

  test("ends an attempt that takes longer, and says how long it was", async () => {
    const failed = failure(bounded({ answerMs: 200 }).sign(DIGEST));
    await vi.advanceTimersByTimeAsync(100);
    expect(await failed).toMatchObject({
      code: "timeout",
      transient: true,
      uri: "t:bounded",
      message: expect.stringContaining("100 ms"),
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("leaves an attempt alone that is quicker, and leaves nothing behind", async () => {
    const { signal } = new AbortController();
    const signed = bounded({ answerMs: 99 }).sign(DIGEST, { signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(99);
    expect(await signed).toHaveLength(64);
    expect([getEventListeners(signal, "abort"), vi.getTimerCount()]).toEqual([[], 0]);
  });

  test("lets the caller end it earlier, for the caller's reason", async () => {
    const controller = new AbortController();
    const failed = failure(bounded({ answerMs: 200 }).sign(DIGEST, { signal: controller.signal }));
    controller.abort("reason");
    await vi.advanceTimersByTimeAsync(0);
    expect(await failed).toMatchObject({ code: "aborted", cause: "reason", uri: "t:bounded" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a backend that hangs and heeds no signal", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function hanging() {
    const { signer, closed } = scriptedSigner();
    const bare = createSigner({
      uri: "t:hangs",
      publicKey: signer.publicKey,
      signDigest: () => new Promise(() => {}),
      close: signer.close,
    });
    return { bare, closed };
  }

  test("is abandoned a second after its signal", async () => {
    const { bare } = hanging();
    const controller = new AbortController();
    const failed = failure(bare.sign(DIGEST, { signal: controller.signal }));
    controller.abort("reason");
    await vi.advanceTimersByTimeAsync(1000);
    expect(await failed).toMatchObject({ code: "aborted", cause: "reason" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("keeps its guard neither from closing nor from its slot", async () => {
    const { bare, closed } = hanging();
    const limiter = createLimiter({ concurrency: 1, maxQueue: 0 });
    const guard = guardSigner(bare, { limiter, deadlineMs: 200 });
    const failed = failure(guard.sign(DIGEST));
    const closing = guard.close();
    await vi.advanceTimersByTimeAsync(1200);
    expect(await failed).toMatchObject({ code: "timeout" });
    await closing;
    expect(closed()).toBe(1);
    expect(limiter.active).toBe(0);
  });

  test("that answers after it was abandoned changes nothing", async () => {
    const { signer } = scriptedSigner(signsAfter(5000));
    const bare = createSigner({
      uri: "t:late",
      publicKey: signer.publicKey,
      signDigest: signer.sign,
      close: signer.close,
    });
    const controller = new AbortController();
    const failed = failure(bare.sign(DIGEST, { signal: controller.signal }));
    controller.abort("reason");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await failed).toMatchObject({ code: "aborted" });
  });
});

describe("endedError", () => {
  test("passes the guard's own reason on, and wraps any other as aborted", () => {
    const timeout = new SignerError("timeout", "late");
    expect(endedError(timeout)).toBe(timeout);
    expect(endedError("reason")).toMatchObject({ code: "aborted", cause: "reason" });
  });
});
