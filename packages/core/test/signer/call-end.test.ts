import { describe, expect, test } from "vitest";
import type { SignOptions } from "../../src/index.ts";
import { guardSigner, SignerError } from "../../src/index.ts";
import {
  type CallBounds,
  createSigner,
  endedError,
  hasCallEnded,
  onCallEnd,
  openAdapterSigner,
  planOpening,
  type SignerBackend,
} from "../../src/adapter.ts";

const publicKey = { kty: "EC", crv: "P-256", x: "x", y: "y" } as const;
const digest = new Uint8Array(32);
/** The base point of P-256 (NIST SP 800-186 section 3.2.1.3). */
const BASE = {
  x: "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
  y: "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU",
};

/** A backend that answers only at the end of its call, and what it got. */
function waitingBackend(more: Partial<SignerBackend>): { backend: SignerBackend; calls: SignOptions[] } {
  const calls: SignOptions[] = [];
  const signDigest = (_digest: Uint8Array, call: SignOptions): Promise<Uint8Array> =>
    new Promise((_resolve, reject) => {
      calls.push(call);
      onCallEnd(call, (reason) => reject(endedError(reason)));
    });
  return { calls, backend: { uri: "example:1", publicKey, signDigest, close: async () => {}, ...more } };
}

describe.each([true, false, undefined])("the end of a call (spreadsOptions: %s)", (spreadsOptions) => {
  test("comes with the reason of the caller's signal", async () => {
    const { backend } = waitingBackend({ spreadsOptions });
    const caller = new AbortController();
    const signing = createSigner(backend).sign(digest, { signal: caller.signal });
    caller.abort("enough");
    await expect(signing).rejects.toMatchObject({ code: "aborted", cause: "enough" });
  });

  test("comes with the guard's timeout", async () => {
    const { backend } = waitingBackend({ spreadsOptions });
    const signer = guardSigner(createSigner(backend), { attemptTimeoutMs: 1, maxAttempts: 1 });
    await expect(signer.sign(digest)).rejects.toMatchObject({ code: "timeout" });
  });

  test("comes with the deadline, also where an attempt may take longer", async () => {
    const { backend } = waitingBackend({ spreadsOptions });
    const signer = guardSigner(createSigner(backend), { deadlineMs: 5, attemptTimeoutMs: 1_000, maxAttempts: 1 });
    await expect(signer.sign(digest)).rejects.toMatchObject({ code: "timeout" });
  });

  test("is also a signal, with the signing input next to it", async () => {
    const { backend, calls } = waitingBackend({ spreadsOptions });
    const caller = new AbortController();
    const signingInput = new Uint8Array([1]);
    const signer = guardSigner(createSigner(backend));
    const signing = signer.sign(digest, { signal: caller.signal, signingInput });
    const [call] = calls;
    expect(call?.signingInput).toEqual(signingInput);
    expect(call?.signal?.aborted).toBe(false);
    if (spreadsOptions !== false) expect({ ...call }.signal).toBe(call?.signal);
    caller.abort();
    expect(call?.signal?.aborted).toBe(true);
    await expect(signing).rejects.toBeInstanceOf(SignerError);
  });
});

test("an end that has come calls back now, and no end never does", () => {
  const reasons: unknown[] = [];
  onCallEnd({ signal: AbortSignal.abort("before") }, (reason) => reasons.push(reason));
  onCallEnd({}, (reason) => reasons.push(reason));
  expect(reasons).toEqual(["before"]);
});

describe.each([true, false, undefined])(
  "the bounds of a call of a remote backend (spreadsBounds: %s)",
  (spreadsBounds) => {
    /** The bounds of a call that never answers, before and after the caller ends it. */
    async function boundsOfEndedCall(policy: false | undefined): Promise<{
      readonly bounds: CallBounds | undefined;
      readonly endedBefore: boolean;
      readonly reasons: readonly unknown[];
      readonly error: unknown;
    }> {
      const reasons: unknown[] = [];
      let seen: CallBounds | undefined;
      const given = { kty: "EC", crv: "P-256", x: BASE.x, y: BASE.y } as const;
      const signer = await openAdapterSigner(planOpening({ publicKey: given, ...(policy === false && { policy }) }), {
        name: "1",
        readKey: () => Promise.reject(new Error("not of this test")),
        uriOf: (name) => `example:${name}`,
        signDigest: (_name, _digest, bounds) =>
          new Promise((_resolve, reject) => {
            seen = bounds;
            onCallEnd(bounds, (reason) => {
              reasons.push(reason);
              reject(endedError(reason));
            });
          }),
        close: async () => {},
        spreadsBounds,
      });
      const caller = new AbortController();
      const signing = signer.sign(digest, { signal: caller.signal }).catch((error: unknown) => error);
      const endedBefore = seen !== undefined && hasCallEnded(seen);
      caller.abort("enough");
      return { bounds: seen, endedBefore, reasons, error: await signing };
    }

    test.each([
      ["guarded", undefined, 2000],
      ["bare", false, 5000],
    ] as const)("of a %s signer end with the caller's signal", async (_what, policy, timeoutMs) => {
      const { bounds, endedBefore, reasons, error } = await boundsOfEndedCall(policy);
      expect(endedBefore).toBe(false);
      expect(bounds !== undefined && hasCallEnded(bounds)).toBe(true);
      expect(bounds?.timeoutMs).toBe(timeoutMs);
      expect(bounds?.signal.aborted).toBe(true);
      expect(reasons).toHaveLength(1);
      expect(error).toMatchObject({ code: "aborted" });
      if (spreadsBounds !== false) expect({ ...bounds }.signal).toBe(bounds?.signal);
    });
  },
);

test.each([
  ["no signal", {}, false],
  ["a signal that runs", { signal: new AbortController().signal }, false],
  ["a signal that has aborted", { signal: AbortSignal.abort() }, true],
])("options with %s: has ended %j", (_what, options, ended) => {
  expect(hasCallEnded(options)).toBe(ended);
});
