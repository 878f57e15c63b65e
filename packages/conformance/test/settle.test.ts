import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { GuardPolicy, Signer, SignerErrorCode } from "@signpost/core";
import type { CheckContext } from "../src/harness.ts";
import { isTransient, oneOfMany, outcomeOf, rejectionOf, signerError, within, withSigner } from "../src/settle.ts";

// How the checks wait for a signer, and how they judge its errors.

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  // Every wait has stopped its timer, however it ended.
  if (vi.getTimerCount() > 0) throw new Error("a timer was left");
  vi.useRealTimers();
});

type Sign = () => Promise<Uint8Array>;

const SIGNATURE = new Uint8Array(64);
const never = async (): Promise<never> => new Promise(() => undefined);
const transient = (): SignerError => new SignerError("unavailable", "not now");
const final = (): SignerError => new SignerError("access_denied", "no");

/** Whether the promise settles exactly at this time, and how. */
async function settlesAt(ms: number, promise: Promise<unknown>): Promise<unknown> {
  let settled = false;
  const outcome = promise.then(
    () => "resolved",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  void outcome.then(() => (settled = true));
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(settled).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(settled).toBe(true);
  return outcome;
}

describe("a bounded wait", () => {
  test("ends as what it waits for", async () => {
    await expect(within(Promise.resolve(7), 100, "it")).resolves.toBe(7);
    await expect(within(Promise.reject(new Error("no")), 100, "it")).rejects.toThrow("no");
  });

  test("ends at its bound, with what hangs", async () => {
    expect(await settlesAt(100, within(never(), 100, "sign()"))).toBe("sign() has not settled within 100 ms");
  });
});

describe("the outcome of a call", () => {
  test("is its signature, or its error", async () => {
    await expect(outcomeOf(async () => SIGNATURE, 100, "it")).resolves.toEqual({ signature: SIGNATURE });
    const error = new Error("no");
    await expect(outcomeOf(async () => Promise.reject(error), 100, "it")).resolves.toEqual({ error });
  });

  test.each<[string, () => unknown, string]>([
    ["throws", () => expect.fail("thrown"), "it threw AssertionError: thrown instead of returning a promise"],
    ["returns no promise", () => SIGNATURE, "it did not return a promise"],
    ["returns nothing", () => undefined, "it did not return a promise"],
  ])("is a complaint if the call %s", async (_what, call, complaint) => {
    await expect(outcomeOf(call as never, 100, "it")).rejects.toThrow(complaint);
  });

  test("is awaited for so long", async () => {
    expect(await settlesAt(100, outcomeOf(never, 100, "it"))).toBe("it has not settled within 100 ms");
  });
});

describe("a rejection", () => {
  test("is the error if its code is one of those", async () => {
    const error = final();
    const call = async (): Promise<never> => Promise.reject(error);
    await expect(rejectionOf(call, ["closed", "access_denied"], "it")).resolves.toBe(error);
    await expect(rejectionOf(call, ["closed", "aborted"], "it")).rejects.toThrow(
      "it rejected with code access_denied, expected closed or aborted: no",
    );
  });

  test("must come: a signature is a complaint", async () => {
    await expect(rejectionOf(async () => SIGNATURE, ["closed", "aborted"], "it")).rejects.toThrow(
      "it gave a signature, expected a rejection with closed or aborted",
    );
  });

  test("is awaited for 35 seconds, or for the time that is given", async () => {
    expect(await settlesAt(35_000, rejectionOf(never, ["closed"], "it"))).toMatch(/within 35000 ms$/);
    expect(await settlesAt(50, rejectionOf(never, ["closed"], "it", 50))).toMatch(/within 50 ms$/);
  });
});

const TRANSIENT: readonly SignerErrorCode[] = ["unavailable", "throttled", "timeout", "overloaded"];
const FINAL: readonly SignerErrorCode[] = [
  "aborted",
  "closed",
  "key_not_found",
  "key_disabled",
  "access_denied",
  "ambiguous_key",
  "unsupported_key",
  "wrong_key",
  "pin_incorrect",
  "pin_locked",
  "bad_signature",
  "invalid_argument",
];

/** An error of another copy of core: only its members tell. */
function errorLike(members: Record<string, unknown>): Error {
  return Object.assign(new Error("said"), { name: "SignerError", code: "closed", transient: false, ...members });
}

describe("a signer's error", () => {
  test.each<[string, unknown, string]>([
    ["a text", "no", "a string that is not an Error"],
    ["nothing", undefined, "a undefined that is not an Error"],
    ["null", null, "a object that is not an Error"],
    ["an object with the members of one", { name: "SignerError", code: "closed", transient: false }, "not an Error"],
    ["an error of another class", new TypeError("no"), "TypeError: no"],
    ["another name", errorLike({ name: "Error" }), "Error: said"],
    ["no code", errorLike({ code: undefined }), "SignerError: said"],
    ["a code that is a number", errorLike({ code: 7 }), "SignerError: said"],
    ["no transient flag", errorLike({ transient: undefined }), "SignerError: said"],
    ["a transient flag that is a text", errorLike({ transient: "false" }), "SignerError: said"],
    ["no members", Object.assign(new Error("said"), { name: "SignerError" }), "SignerError: said"],
    ["no code member", Object.assign(new Error("said"), { name: "SignerError", transient: true }), "SignerError: said"],
    ["no flag member", Object.assign(new Error("said"), { name: "SignerError", code: "closed" }), "SignerError: said"],
  ])("is not %s", (_what, error, described) => {
    expect(() => signerError(error, ["closed"], "it")).toThrow(described);
    expect(() => signerError(error, ["closed"], "it")).toThrow("expected a SignerError");
    expect(isTransient(error)).toBe(false);
  });

  test("may be of another copy of core", () => {
    const error = errorLike({});
    expect(signerError(error, ["closed"], "it")).toBe(error);
    expect(isTransient(errorLike({ transient: true }))).toBe(true);
  });

  test.each([...TRANSIENT.map((code) => [code, true] as const), ...FINAL.map((code) => [code, false] as const)])(
    "with the code %s is transient: %s",
    (code, flag) => {
      expect(signerError(errorLike({ code, transient: flag }), [code], "it")).toBeDefined();
      expect(() => signerError(errorLike({ code, transient: !flag }), [code], "it")).toThrow(
        `it: transient is ${!flag} on an error with code ${code}`,
      );
    },
  );

  test("with the code integrity may be either", () => {
    for (const flag of [true, false])
      expect(signerError(errorLike({ code: "integrity", transient: flag }), ["integrity"], "it")).toBeDefined();
  });
});

describe("one of many calls", () => {
  const context = (form: CheckContext["form"]): CheckContext => ({ form, secrets: [], open: never });

  test.each([
    ["bare", 3],
    ["guarded", 1],
  ] as const)("of a %s signer is made %d times if the backend fails", async (form, attempts) => {
    const call = vi.fn<Sign>(async () => Promise.reject(transient()));
    await expect(oneOfMany(context(form), call)).rejects.toThrow("not now");
    expect(call).toHaveBeenCalledTimes(attempts);
  });

  test("gives the signature of its last attempt", async () => {
    const call = vi
      .fn<() => Promise<Uint8Array>>()
      .mockRejectedValueOnce(transient())
      .mockRejectedValueOnce(transient());
    call.mockResolvedValue(SIGNATURE);
    await expect(oneOfMany(context("bare"), call)).resolves.toBe(SIGNATURE);
    expect(call).toHaveBeenCalledTimes(3);
  });

  test("is made once if the failure is final, or if it hangs", async () => {
    const failing = vi.fn<Sign>(async () => Promise.reject(final()));
    await expect(oneOfMany(context("bare"), failing)).rejects.toThrow("no");
    expect(failing).toHaveBeenCalledOnce();
    const hanging = vi.fn<Sign>(never);
    expect(await settlesAt(35_000, oneOfMany(context("bare"), hanging))).toMatch(/^sign\(\) has not settled/);
    expect(hanging).toHaveBeenCalledOnce();
  });
});

describe("a check's signer", () => {
  function opening(close: () => Promise<void>) {
    const policies: GuardPolicy[] = [];
    const closing = vi.fn<Signer["close"]>(close);
    const signer = { close: closing } as unknown as Signer;
    const context: CheckContext = {
      form: "guarded",
      secrets: [],
      open: async (policy) => {
        policies.push(policy);
        return signer;
      },
    };
    return { context, policies, closing, signer };
  }

  test("is opened with a generous policy or with the one that is given, and closed", async () => {
    const { context, policies, closing, signer } = opening(async () => undefined);
    const run = vi.fn<(signer: Signer) => Promise<void>>(async () => undefined);
    await withSigner(context, run);
    await withSigner(context, run, { deadlineMs: 7 });
    expect(policies).toEqual([{ deadlineMs: 30_000, attemptTimeoutMs: 15_000 }, { deadlineMs: 7 }]);
    expect(run.mock.calls).toEqual([[signer], [signer]]);
    expect(closing).toHaveBeenCalledTimes(2);
  });

  test("is closed if the check fails, whose error counts whatever closing does", async () => {
    const complaint = async (): Promise<never> => Promise.reject(new Error("complaint"));
    for (const close of [async () => undefined, async () => Promise.reject(new Error("cannot close"))]) {
      const { context, closing } = opening(close);
      await expect(withSigner(context, complaint)).rejects.toThrow("complaint");
      expect(closing).toHaveBeenCalledOnce();
    }
    const { context } = opening(never);
    expect(await settlesAt(3000, withSigner(context, complaint))).toBe("complaint");
  });

  test("fails a check that passed if it cannot be closed", async () => {
    const pass = async (): Promise<void> => undefined;
    const failing = opening(async () => Promise.reject(new Error("cannot close")));
    await expect(withSigner(failing.context, pass)).rejects.toThrow("cannot close");
    expect(await settlesAt(35_000, withSigner(opening(never).context, pass))).toMatch(/^close\(\) has not settled/);
  });

  test("fails a check if it does not open", async () => {
    const context: CheckContext = { form: "bare", secrets: [], open: never };
    expect(await settlesAt(35_000, withSigner(context, never))).toMatch(/^open\(\) has not settled/);
  });
});
