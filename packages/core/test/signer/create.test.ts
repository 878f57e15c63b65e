import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLimiter, guardSigner, SignerError } from "@signpost/core";
import { createSigner, endedError } from "@signpost/core/adapter";
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
