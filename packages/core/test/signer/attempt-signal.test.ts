import { afterEach, expect, test, vi } from "vitest";
import { guardSigner, SignerError, type Signer, type SignOptions } from "@signpost/core";
import { createSigner, onAbort } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { scriptedSigner } from "../support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);

/** A signer whose backend gets the options as they are. */
function signerOf(
  signDigest: (options: SignOptions, sign: () => Promise<Uint8Array>) => Promise<Uint8Array>,
  callTimeoutMs?: number,
): Signer {
  const { signer } = scriptedSigner();
  return createSigner({
    uri: "test:key",
    publicKey: signer.publicKey,
    callTimeoutMs,
    signDigest: (digest, options) => signDigest(options, () => signer.sign(digest)),
    close: async () => {},
  });
}

afterEach(() => void vi.unstubAllGlobals());

function countControllers(): () => number {
  let count = 0;
  vi.stubGlobal(
    "AbortController",
    class extends AbortController {
      constructor() {
        super();
        count += 1;
      }
    },
  );
  return () => count;
}

test("a backend that reads no signal gets none made", async () => {
  const signature = await scriptedSigner().signer.sign(DIGEST);
  const guard = guardSigner(signerOf(async () => signature));
  const made = countControllers();
  await guard.sign(DIGEST, { signingInput: DIGEST });
  expect(made()).toBe(0);
});

test("a backend that reads its signal twice gets the same one, also from a copy of the options", async () => {
  let seen: SignOptions | undefined;
  const guard = guardSigner(
    signerOf((options, sign) => {
      seen = options;
      return sign();
    }),
  );
  await guard.sign(DIGEST, { signingInput: DIGEST });
  expect(seen?.signal).toBeInstanceOf(AbortSignal);
  expect({ ...seen }).toEqual({ signal: seen?.signal, signingInput: DIGEST });
  expect(seen?.signal?.aborted).toBe(false);
});

test.each<[string, number | undefined]>([
  ["of a guard", undefined],
  ["of a bare signer with a time limit", 5000],
])("a signal %s that is read only after the end has aborted with its reason", async (_, callTimeoutMs) => {
  let reason: unknown;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const guard = guardSigner(
    signerOf(async (options) => {
      await ended;
      reason = options.signal?.reason;
      throw new SignerError("unavailable", "gone");
    }, callTimeoutMs),
  );
  const controller = new AbortController();
  const call = failure(guard.sign(DIGEST, { signal: controller.signal }));
  controller.abort("stop");
  expect(await call).toMatchObject({ code: "aborted", cause: "stop" });
  end();
  await vi.waitFor(() => expect(reason).toMatchObject({ code: "aborted", cause: "stop" }));
});

test("a signal that was read fires once, with the reason of the timeout", async () => {
  const reasons: unknown[] = [];
  const guard = guardSigner(
    signerOf(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener("abort", () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          });
        }),
    ),
    { attemptTimeoutMs: 20, maxAttempts: 1 },
  );
  expect(await failure(guard.sign(DIGEST))).toMatchObject({ code: "timeout" });
  expect(reasons).toMatchObject([{ code: "timeout" }]);
});

test("onAbort on the signal of an attempt calls each callback once, in order, and no removed one", async () => {
  const called: string[] = [];
  const thrown: (() => void)[] = [];
  const nextTick = vi.spyOn(process, "nextTick");
  let late: AbortSignal | undefined;
  const guard = guardSigner(
    signerOf(({ signal }) => {
      late = signal;
      return new Promise((_, reject) => {
        onAbort(signal, () => called.push("first"));
        const letGo = onAbort(signal, () => called.push("removed"));
        onAbort(signal, () => {
          // As for a listener, the error ends the process later, and nothing else.
          nextTick.mockImplementation((callback) => void thrown.push(callback as () => void));
          throw new Error("of a callback");
        });
        onAbort(signal, () => {
          nextTick.mockRestore();
          called.push("last");
          reject(signal?.reason);
        });
        letGo();
      });
    }),
  );
  const controller = new AbortController();
  const call = failure(guard.sign(DIGEST, { signal: controller.signal }));
  controller.abort("stop");
  expect(await call).toMatchObject({ code: "aborted", cause: "stop" });
  expect(called).toEqual(["first", "last"]);
  expect(thrown).toHaveLength(1);
  expect(thrown[0]).toThrow("of a callback");
  onAbort(late, () => called.push("after"));
  expect(called).toEqual(["first", "last", "after"]);
});

/** Runs `listen` with the signal of an attempt and with the signal of a caller, each of which then aborts. */
async function onEachSignal(listen: (signal: AbortSignal | undefined) => void): Promise<void> {
  const caller = new AbortController();
  const guard = guardSigner(
    signerOf(({ signal }) => {
      listen(signal);
      return new Promise((_, reject) => void onAbort(signal, () => reject(signal?.reason)));
    }),
  );
  const call = failure(guard.sign(DIGEST, { signal: caller.signal }));
  caller.abort("stop");
  await call;
  const other = new AbortController();
  listen(other.signal);
  other.abort("stop");
}

test("onAbort calls no callback that another one has removed, on any signal", async () => {
  const called: string[] = [];
  await onEachSignal((signal) => {
    onAbort(signal, () => {
      called.push("first");
      letGo();
    });
    const letGo = onAbort(signal, () => called.push("removed"));
  });
  expect(called).toEqual(["first", "first"]);
});

test("onAbort removes one callback, even if it is asked twice and another call passed the same one, on any signal", async () => {
  const callback = vi.fn<() => void>();
  await onEachSignal((signal) => {
    const letGo = onAbort(signal, callback);
    onAbort(signal, callback);
    letGo();
    letGo();
  });
  expect(callback).toHaveBeenCalledTimes(2);
});

test("onAbort calls every callback, even if one throws, on any signal", async () => {
  const thrown: (() => void)[] = [];
  const called = vi.fn<() => void>();
  await onEachSignal((signal) => {
    onAbort(signal, () => {
      vi.spyOn(process, "nextTick").mockImplementationOnce((callback) => void thrown.push(callback as () => void));
      throw new Error("of a callback");
    });
    onAbort(signal, called);
  });
  vi.restoreAllMocks();
  expect(called).toHaveBeenCalledTimes(2);
  expect(thrown).toHaveLength(2);
  for (const thrower of thrown) expect(thrower).toThrow("of a callback");
});
