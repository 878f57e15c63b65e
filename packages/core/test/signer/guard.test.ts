import { createHash, verify } from "node:crypto";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  ConfigurationError,
  createLimiter,
  guardSigner,
  type GuardPolicy,
  type Limiter,
  SignerError,
  type SignerErrorCode,
  type SignOptions,
} from "@signpost/core";
import { failure } from "../support/failure.ts";
import {
  answers,
  type Behaviour,
  fails,
  hangs,
  hangsUntilAborted,
  scriptedSigner,
  signs,
  signsAfter,
} from "../support/scripted-signer.ts";

const INPUT = Buffer.from("signing input");
const DIGEST = createHash("sha256").update(INPUT).digest();

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function guarded(policy: GuardPolicy, ...behaviours: Behaviour[]) {
  const scripted = scriptedSigner(...behaviours);
  return { ...scripted, guard: guardSigner(scripted.signer, policy) };
}

const unavailable = () => new SignerError("unavailable", "gone");

/** Says that it has another length than it has. */
class Lying extends Uint8Array {
  override get length(): number {
    return this.byteLength < 32 ? 32 : 64;
  }
}

describe("a signature", () => {
  test("passes through the guard and verifies under node:crypto", async () => {
    const { guard, publicKey } = guarded({}, signs);
    const signature = await guard.sign(DIGEST);
    expect(signature).toHaveLength(64);
    expect(verify("sha256", INPUT, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
  });

  test("is a copy, which the backend cannot change afterwards", async () => {
    let kept: Uint8Array = new Uint8Array();
    const { guard } = guarded({}, (call) => (kept = call.sign()));
    const signature = await guard.sign(DIGEST);
    const before = Buffer.from(signature).toString("hex");
    kept.fill(0);
    expect(Buffer.from(signature).toString("hex")).toBe(before);
  });

  test("is made over the digest as it was at the call, even when the caller overwrites its buffer", async () => {
    const { guard, publicKey } = guarded({ concurrency: 1 }, signsAfter(10), signs);
    const first = guard.sign(DIGEST);
    const digest = Uint8Array.from(DIGEST);
    const queued = guard.sign(digest);
    digest.fill(0);
    await vi.advanceTimersByTimeAsync(10);
    await first;
    expect(verify("sha256", INPUT, { key: publicKey, dsaEncoding: "ieee-p1363" }, await queued)).toBe(true);
  });

  test("of a second attempt is not spoilt by a backend that wrote into its digest", async () => {
    const spoils: Behaviour = (call) => {
      call.digest.fill(0);
      throw unavailable();
    };
    const { guard, publicKey } = guarded({}, spoils, signs);
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(verify("sha256", INPUT, { key: publicKey, dsaEncoding: "ieee-p1363" }, await signature)).toBe(true);
  });

  test.each([
    ["63 bytes", new Uint8Array(63).fill(1)],
    ["65 bytes", new Uint8Array(65).fill(1)],
    ["a DER signature", new Uint8Array(70).fill(0x30)],
    ["r = 0", Buffer.concat([Buffer.alloc(32), Buffer.alloc(32, 1)])],
    ["s = 0", Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32)])],
    [
      "r = n",
      Buffer.concat([
        Buffer.from("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "hex"),
        Buffer.alloc(32, 1),
      ]),
    ],
    ["s above n", Buffer.concat([Buffer.alloc(32, 1), Buffer.alloc(32, 0xff)])],
    ["undefined", undefined],
    ["a string", "signature"],
    ["63 bytes of a class that says 64", new Lying(63).fill(1)],
  ])("of %s is refused as bad_signature, and not tried again", async (_name, result) => {
    const { guard, calls } = guarded({}, answers(result));
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "bad_signature", transient: false });
    expect(calls).toHaveLength(1);
  });
});

describe("a digest", () => {
  test.each([
    ["31 bytes", new Uint8Array(31)],
    ["33 bytes", new Uint8Array(33)],
    ["no bytes", new Uint8Array(0)],
    ["an array", Array.from(DIGEST)],
    ["hex", DIGEST.toString("hex")],
    ["undefined", undefined],
    ["31 bytes of a class that says 32", new Lying(31)],
  ])("of %s is invalid_argument and never reaches the backend", async (_name, digest) => {
    const { guard, calls } = guarded({}, signs);
    const error = await failure(guard.sign(digest as Uint8Array));
    expect(error).toMatchObject({ code: "invalid_argument", uri: guard.uri });
    expect(calls).toHaveLength(0);
    expect(guard.health().status).toBe("ready");
  });
});

describe("attempts", () => {
  test.each<[SignerErrorCode, number]>([
    ["unavailable", 3],
    ["throttled", 3],
    ["timeout", 3],
    ["key_not_found", 1],
    ["access_denied", 1],
    ["pin_incorrect", 1],
    ["wrong_key", 1],
    ["bad_signature", 1],
    ["integrity", 1],
  ])("%s is tried %i times", async (code, attempts) => {
    const { guard, calls } = guarded(
      {},
      fails(() => new SignerError(code, "no")),
    );
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(5000);
    expect(await failed).toMatchObject({ code });
    expect(calls).toHaveLength(attempts);
  });

  test("a transient integrity failure is tried again", async () => {
    const { guard, calls } = guarded(
      {},
      fails(() => new SignerError("integrity", "corrupted", { transient: true })),
      signs,
    );
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await signature).toHaveLength(64);
    expect(calls).toHaveLength(2);
  });

  test("an error that is not a SignerError becomes integrity, with its cause", async () => {
    const cause = new TypeError("bug");
    const { guard, calls } = guarded(
      {},
      fails(() => cause),
    );
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "integrity", transient: false, cause });
    expect(calls).toHaveLength(1);
  });

  test("a signer that throws instead of rejecting gives its slot back", async () => {
    const scripted = scriptedSigner();
    const guard = guardSigner(
      {
        ...scripted.signer,
        sign: () => {
          throw unavailable();
        },
      },
      { concurrency: 1, maxAttempts: 2, maxQueue: 0 },
    );
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await failed).toMatchObject({ code: "unavailable" });
  });

  test("one that runs out of its time is aborted, and the next one may succeed", async () => {
    const { guard, calls } = guarded({ attemptTimeoutMs: 100 }, hangsUntilAborted, signs);
    const signature = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await signature).toHaveLength(64);
    expect(calls[0]?.signal.aborted).toBe(true);
    expect(calls[1]?.signal.aborted).toBe(false);
  });

  test("all that hang end as timeout", async () => {
    const { guard, calls } = guarded({ attemptTimeoutMs: 100, maxAttempts: 2 }, hangsUntilAborted);
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await failed).toMatchObject({ code: "timeout", transient: true });
    expect(calls).toHaveLength(2);
  });
});

describe("the deadline", () => {
  test("ends the call and aborts its attempt", async () => {
    const { guard, calls } = guarded({ deadlineMs: 300, attemptTimeoutMs: 1000 }, hangsUntilAborted);
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(300);
    expect(await failed).toMatchObject({
      code: "timeout",
      message: "scripted:key: no signature within the deadline of 300 ms",
    });
    expect(calls).toHaveLength(1);
    expect(calls[0]?.signal.aborted).toBe(true);
  });

  test("counts the time in the queue", async () => {
    const { guard, calls } = guarded({ deadlineMs: 300, attemptTimeoutMs: 1000, concurrency: 1 }, hangs);
    const first = failure(guard.sign(DIGEST));
    const queued = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(300);
    expect(await queued).toMatchObject({ code: "timeout" });
    await first;
    expect(calls).toHaveLength(1);
  });

  test("counts every attempt and the pauses between them", async () => {
    const { guard, calls } = guarded({ deadlineMs: 300, attemptTimeoutMs: 100, maxAttempts: 100 }, hangsUntilAborted);
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(300);
    expect(await failed).toMatchObject({ code: "timeout" });
    expect(calls.length).toBeLessThanOrEqual(3);
  });
});

describe("an aborted caller", () => {
  test("is refused before anything is sent when its signal has aborted already", async () => {
    const { guard, calls } = guarded({}, signs);
    const reason = new Error("changed my mind");
    expect(await failure(guard.sign(DIGEST, { signal: AbortSignal.abort(reason) }))).toMatchObject({
      code: "aborted",
      cause: reason,
    });
    expect(calls).toHaveLength(0);
  });

  test("is released immediately, and the backend's signal aborts", async () => {
    const { guard, calls } = guarded({}, hangs);
    const controller = new AbortController();
    const failed = failure(guard.sign(DIGEST, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(1);
    controller.abort("reason");
    expect(await failed).toMatchObject({ code: "aborted", cause: "reason" });
    expect(calls[0]?.signal.aborted).toBe(true);
  });

  test("leaves the queue", async () => {
    const { guard, calls } = guarded({ concurrency: 1 }, signsAfter(50));
    const first = guard.sign(DIGEST);
    const controller = new AbortController();
    const failed = failure(guard.sign(DIGEST, { signal: controller.signal }));
    controller.abort();
    expect(await failed).toMatchObject({ code: "aborted" });
    await vi.advanceTimersByTimeAsync(50);
    await first;
    expect(calls).toHaveLength(1);
  });

  test("is not tried again during a pause between attempts", async () => {
    const { guard, calls } = guarded({}, fails(unavailable));
    const controller = new AbortController();
    const failed = failure(guard.sign(DIGEST, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(1);
    controller.abort();
    expect(await failed).toMatchObject({ code: "aborted" });
    expect(calls).toHaveLength(1);
  });

  test("does not make the backend look sick", async () => {
    const { guard } = guarded({}, hangs);
    const controller = new AbortController();
    const failed = failure(guard.sign(DIGEST, { signal: controller.signal }));
    controller.abort();
    await failed;
    expect(guard.health().status).toBe("ready");
  });
});

describe("slots", () => {
  test("come back only when the backend has settled, however late", async () => {
    const { guard, calls } = guarded({ concurrency: 1, attemptTimeoutMs: 100, maxAttempts: 1 }, signsAfter(500), signs);
    const timedOut = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(100);
    expect(await timedOut).toMatchObject({ code: "timeout" });
    const next = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(399);
    expect(calls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toHaveLength(64);
  });

  test("a late result is dropped: the next caller gets a signature over its own digest", async () => {
    const { guard, publicKey } = guarded(
      { concurrency: 1, attemptTimeoutMs: 100, maxAttempts: 1 },
      signsAfter(500),
      signs,
    );
    const timedOut = failure(guard.sign(createHash("sha256").update("another").digest()));
    const next = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(500);
    await timedOut;
    expect(verify("sha256", INPUT, { key: publicKey, dsaEncoding: "ieee-p1363" }, await next)).toBe(true);
  });

  test("limit the concurrent calls", async () => {
    const { guard, calls } = guarded({ concurrency: 3 }, signsAfter(10));
    const all = Promise.all(Array.from({ length: 7 }, () => guard.sign(DIGEST)));
    await vi.advanceTimersByTimeAsync(9);
    expect(calls).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(21);
    await all;
    expect(calls).toHaveLength(7);
  });

  test("a full queue rejects with overloaded immediately, and is not retried", async () => {
    const { guard, calls } = guarded({ concurrency: 1, maxQueue: 1 }, signsAfter(10));
    const accepted = [guard.sign(DIGEST), guard.sign(DIGEST)];
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "overloaded", transient: true });
    await vi.advanceTimersByTimeAsync(20);
    await Promise.all(accepted);
    expect(calls).toHaveLength(2);
  });

  test("a retry that meets a full queue reports the backend's failure", async () => {
    const { guard } = guarded({ concurrency: 1, maxQueue: 0 }, fails(unavailable), hangs);
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(1);
    void guard.sign(DIGEST).catch(() => {});
    await vi.advanceTimersByTimeAsync(1000);
    expect(await failed).toMatchObject({ code: "unavailable" });
  });
});

describe("a backend that never comes back", () => {
  const policy = { concurrency: 2, attemptTimeoutMs: 100, maxAttempts: 1 };

  test("gives its slot back a second after its signal: the other signers of a shared limiter go on", async () => {
    const limiter = createLimiter({ concurrency: 1, maxQueue: 10 });
    const dead = guarded({ limiter, attemptTimeoutMs: 100, maxAttempts: 1 }, hangs).guard;
    const neighbor = guarded({ limiter }, signs);
    const timedOut = failure(dead.sign(DIGEST));
    const waits = neighbor.guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1099);
    expect(neighbor.calls).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(await timedOut).toMatchObject({ code: "timeout" });
    expect(await waits).toHaveLength(64);
  });

  test.each([
    ["concurrency of the policy", policy],
    [
      "concurrency of a shared limiter",
      () => ({ ...policy, concurrency: undefined, limiter: createLimiter({ concurrency: 2, maxQueue: 9 }) }),
    ],
  ])("gets no more calls than the %s, however long it is dead", async (_name, given) => {
    const { guard, calls } = guarded(typeof given === "function" ? given() : given, hangs);
    for (let round = 0; round < 5; round += 1) {
      const failed = failure(guard.sign(DIGEST));
      await vi.advanceTimersByTimeAsync(1200);
      expect(await failed).toMatchObject({ code: round < 2 ? "timeout" : "unavailable", transient: true });
    }
    expect(calls).toHaveLength(2);
    expect(guard.health().notes).toEqual(["abandoned calls that the backend has not answered: 2"]);
  });

  test("gets calls again after an abandoned one has settled", async () => {
    let comeBack: () => void = () => {};
    const late: Behaviour = (call) => new Promise((resolve) => (comeBack = () => resolve(call.sign())));
    const { guard } = guarded({ ...policy, concurrency: 1 }, late, signs);
    const timedOut = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(1200);
    await timedOut;
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "unavailable" });
    comeBack();
    await vi.advanceTimersByTimeAsync(0);
    expect(await guard.sign(DIGEST)).toHaveLength(64);
    expect(guard.health().notes).toEqual([]);
  });
});

describe("a custom limiter", () => {
  const limiterOf = (acquire: (signal?: AbortSignal) => unknown): Limiter => ({
    active: 0,
    queued: 0,
    acquire: acquire as Limiter["acquire"],
  });

  test("that never grants a slot and ignores its signal cannot hold a call beyond its deadline", async () => {
    const { guard } = guarded({ limiter: limiterOf(() => new Promise(() => {})), deadlineMs: 300 }, signs);
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(300);
    expect(await failed).toMatchObject({ code: "timeout", message: expect.stringContaining("300 ms") });
  });

  test.each([
    ["aborts", "aborted"],
    ["closes the signer", "closed"],
  ])("that never grants a slot lets a caller go that %s", async (how, code) => {
    const { guard } = guarded({ limiter: limiterOf(() => new Promise(() => {})) }, signs);
    const controller = new AbortController();
    const failed = failure(guard.sign(DIGEST, { signal: controller.signal }));
    if (how === "aborts") controller.abort();
    else await guard.close();
    expect(await failed).toMatchObject({ code });
  });

  test("that grants a slot to a call that is over gets it back", async () => {
    let grant: () => void = () => {};
    const release = vi.fn<() => void>();
    const late = limiterOf(() => new Promise((resolve) => (grant = () => resolve(release))));
    const { guard, calls } = guarded({ limiter: late, deadlineMs: 100 }, signs);
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(100);
    await failed;
    grant();
    await vi.advanceTimersByTimeAsync(0);
    expect(release).toHaveBeenCalledTimes(1);
    expect(calls).toHaveLength(0);
  });

  test.each<[string, (signal?: AbortSignal) => unknown]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
    ["gives no function", () => Promise.resolve(undefined)],
    ["gives nothing", () => undefined],
  ])("that %s fails the call with a typed error", async (_name, acquire) => {
    const { guard } = guarded({ limiter: limiterOf(acquire) }, signs);
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "integrity", message: "the limiter failed" });
  });

  test("that fails when it gets a slot back costs no signature", async () => {
    const broken = limiterOf(() => () => {
      throw new Error("broken");
    });
    const { guard } = guarded({ limiter: broken }, signs);
    expect(await guard.sign(DIGEST)).toHaveLength(64);
  });
});

describe("an error", () => {
  test.each<[string, GuardPolicy, Behaviour]>([
    ["of the backend", {}, fails(() => new SignerError("access_denied", "no"))],
    ["of the guard", { attemptTimeoutMs: 10, maxAttempts: 1 }, hangs],
    ["of a backend that breaks its contract", {}, answers("text")],
  ])("%s names the signer", async (_name, policy, behaviour) => {
    const { guard } = guarded(policy, behaviour);
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(10);
    expect(await failed).toMatchObject({ uri: "scripted:key" });
  });
});

describe("a deadline between attempts", () => {
  test("is a timeout whose cause is the backend's last error", async () => {
    const { guard } = guarded(
      { deadlineMs: 20, maxAttempts: 10 },
      fails(() => new SignerError("throttled", "slow down")),
    );
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(20);
    expect(await failed).toMatchObject({ code: "timeout", cause: { code: "throttled" } });
  });
});

describe("close", () => {
  test("closes the signer inside once, however often it is called", async () => {
    const { guard, closed } = guarded({}, signs);
    await Promise.all([guard.close(), guard.close()]);
    await guard[Symbol.asyncDispose]();
    expect(closed()).toBe(1);
  });

  test("lets started calls finish, rejects queued ones and new ones", async () => {
    const { guard, closed } = guarded({ concurrency: 1 }, signsAfter(50));
    const started = guard.sign(DIGEST);
    const queued = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(1);
    const closing = guard.close();
    expect(await queued).toMatchObject({ code: "closed", transient: false });
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "closed" });
    expect(closed()).toBe(0);
    await vi.advanceTimersByTimeAsync(50);
    expect(await started).toHaveLength(64);
    await closing;
    expect(closed()).toBe(1);
  });

  test("lets a call between two attempts finish", async () => {
    const { guard } = guarded({}, fails(unavailable), signs);
    const started = guard.sign(DIGEST);
    await vi.advanceTimersByTimeAsync(1);
    const closing = guard.close();
    await vi.advanceTimersByTimeAsync(1000);
    expect(await started).toHaveLength(64);
    await closing;
  });

  test("waits no longer than a second after the deadline for a backend that hangs", async () => {
    const { guard, closed } = guarded({ deadlineMs: 200 }, hangs);
    const started = failure(guard.sign(DIGEST));
    const closing = guard.close();
    await vi.advanceTimersByTimeAsync(200);
    expect(await started).toMatchObject({ code: "timeout" });
    await vi.advanceTimersByTimeAsync(1000);
    await closing;
    expect(closed()).toBe(1);
  });
});

describe("health", () => {
  test.each<[SignerErrorCode, string]>([
    ["throttled", "degraded"],
    ["unavailable", "degraded"],
    ["key_disabled", "down"],
    ["bad_signature", "down"],
  ])("after %s is %s, and ready again after a success", async (code, status) => {
    const { guard } = guarded(
      { maxAttempts: 1 },
      fails(() => new SignerError(code, "no")),
      signs,
    );
    await failure(guard.sign(DIGEST));
    expect(guard.health()).toMatchObject({ status, lastCode: code, since: new Date() });
    await guard.sign(DIGEST);
    expect(guard.health().status).toBe("ready");
    expect(guard.health().lastCode).toBeUndefined();
  });

  test.each<SignerErrorCode>(["closed", "aborted", "invalid_argument"])(
    "is down after the backend's own %s, which no caller asked for",
    async (code) => {
      const { guard } = guarded(
        {},
        fails(() => new SignerError(code, "no")),
      );
      await failure(guard.sign(DIGEST));
      expect(guard.health()).toMatchObject({ status: "down", lastCode: code });
    },
  );

  test("is not touched by a caller's abort or close", async () => {
    const { guard } = guarded({ concurrency: 1 }, hangs);
    const controller = new AbortController();
    const aborted = failure(guard.sign(DIGEST, { signal: controller.signal }));
    const queued = failure(guard.sign(DIGEST));
    controller.abort();
    void guard.close();
    expect(await aborted).toMatchObject({ code: "aborted" });
    expect(await queued).toMatchObject({ code: "closed" });
    expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "closed" });
    expect(guard.health().status).toBe("ready");
  });

  test("says since when the adapter's status holds, as far as it was asked", async () => {
    let status: "ready" | "degraded" = "ready";
    const guard = guardSigner(scriptedSigner(signs).signer, {}, { status: () => status });
    const opened = guard.health().since;
    await vi.advanceTimersByTimeAsync(1000);
    status = "degraded";
    expect(guard.health()).toMatchObject({ status: "degraded", since: new Date() });
    const { since } = guard.health();
    await vi.advanceTimersByTimeAsync(1000);
    expect(guard.health().since).toEqual(since);
    expect(since).not.toEqual(opened);
  });

  test("keeps the time since which its status holds", async () => {
    const { guard } = guarded({ maxAttempts: 1 }, fails(unavailable));
    await failure(guard.sign(DIGEST));
    const { since } = guard.health();
    await vi.advanceTimersByTimeAsync(1000);
    await failure(guard.sign(DIGEST));
    expect(guard.health().since).toEqual(since);
  });

  test("is the worse of the calls' and the adapter's status, with the adapter's notes", async () => {
    const { signer } = scriptedSigner(signs);
    const guard = guardSigner(signer, {}, { notes: () => ["the PIN was not proven"], status: () => "down" });
    await guard.sign(DIGEST);
    expect(guard.health()).toMatchObject({ status: "down", notes: ["the PIN was not proven"] });
  });
});

describe("an argument of another kind", () => {
  test.each([
    ["options", null],
    ["signal", { signal: {} }],
    ["signingInput", { signingInput: "text" }],
  ])("is invalid_argument and names %s, and says nothing about the backend", async (name, options) => {
    const { guard, calls } = guarded({}, signs);
    const error = await failure(guard.sign(DIGEST, options as SignOptions));
    expect(error).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(name) as string,
      uri: guard.uri,
    });
    expect(calls).toHaveLength(0);
    expect(guard.health().status).toBe("ready");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is no digest of another realm, as test runners make them", async () => {
    const { guard } = guarded({}, signs);
    expect(await guard.sign(runInNewContext("new Uint8Array(32)") as Uint8Array)).toHaveLength(64);
  });
});

describe("an adapter's defaults", () => {
  const defaults = { concurrency: 1, maxAttempts: 2 };

  test("apply if the policy has no value, or undefined", async () => {
    const { signer, calls } = scriptedSigner(fails(unavailable));
    const guard = guardSigner(signer, { maxAttempts: undefined }, { defaults });
    const failed = failure(guard.sign(DIGEST));
    await vi.advanceTimersByTimeAsync(1000);
    await failed;
    expect(calls).toHaveLength(2);
  });

  test("give way to the policy", async () => {
    const { signer, calls } = scriptedSigner(fails(unavailable));
    await failure(guardSigner(signer, { maxAttempts: 1 }, { defaults }).sign(DIGEST));
    expect(calls).toHaveLength(1);
  });

  test("give way to a shared limiter", async () => {
    const { signer, calls } = scriptedSigner(signsAfter(10));
    const limiter = createLimiter({ concurrency: 3, maxQueue: 0 });
    const guard = guardSigner(signer, { limiter }, { defaults });
    const all = Promise.all(Array.from({ length: 3 }, () => guard.sign(DIGEST)));
    expect(calls).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(10);
    await all;
  });
});

describe("construction", () => {
  test("refuses a signer that is already guarded", () => {
    const { guard } = guarded({}, signs);
    expect(() => guardSigner(guard)).toThrow(ConfigurationError);
  });

  test.each([undefined, null, {}, Promise.resolve()])("refuses %o for a signer", (value) => {
    expect(() => guardSigner(value as never)).toThrow(expect.objectContaining({ argument: "signer" }));
  });

  test.each<[keyof GuardPolicy, unknown]>([
    ["deadlineMs", 0],
    ["deadlineMs", Number.NaN],
    ["deadlineMs", 5n],
    ["deadlineMs", { valueOf: () => 5 }],
    ["deadlineMs", 1.5],
    ["deadlineMs", Number.POSITIVE_INFINITY],
    ["deadlineMs", 2 ** 31],
    ["attemptTimeoutMs", -1],
    ["maxAttempts", 0],
    ["maxAttempts", "3"],
    ["concurrency", 0],
    ["maxQueue", -1],
    ["limiter", {}],
  ])("refuses %s = %s and names it", (name, value) => {
    const { signer } = scriptedSigner();
    expect(() => guardSigner(signer, { [name]: value })).toThrow(
      expect.objectContaining({ message: expect.stringContaining(name) }),
    );
  });
});
