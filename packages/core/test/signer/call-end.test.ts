import { describe, expect, test } from "vitest";
import type { SignOptions } from "../../src/index.ts";
import { guardSigner, SignerError } from "../../src/index.ts";
import { createSigner, endedError, onCallEnd, type SignerBackend } from "../../src/adapter.ts";

const publicKey = { kty: "EC", crv: "P-256", x: "x", y: "y" } as const;
const digest = new Uint8Array(32);

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
