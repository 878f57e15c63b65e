import { beforeEach, describe, expect, test } from "vitest";
import type { Signer } from "@signpost/core";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { outcome, until } from "./support/signing.ts";

const SESSIONS = 4;
const CALLERS = 12;
/** So many that the module is known to compute, and a thread takes the next digest while it signs. */
const WARM = 300;
const CKR_GENERAL_ERROR = 5;
const at = useShimmedToken(SESSIONS);

describe("a thread that has several digests", () => {
  let signer: Signer;

  beforeEach(async () => {
    signer = await at.opener.open({ ...at.base, policy: { maxAttempts: 1, concurrency: CALLERS, maxQueue: CALLERS } });
    await until(() => at.shim.counter("openSessions") === SESSIONS);
    for (let signed = 0; signed < WARM; signed += CALLERS) await signAll();
  });

  function signAll(): Promise<readonly string[]> {
    return Promise.all(Array.from({ length: CALLERS }, () => outcome(signer)));
  }

  test("leaves those behind a failed one to other sessions, and none is signed twice", async () => {
    at.shim.fail("C_Sign", CKR_GENERAL_ERROR, { times: 1 });
    const before = at.shim.digests().length;
    const outcomes = await signAll();
    expect(outcomes.filter((one) => one !== "signed")).toEqual(["unavailable"]);
    // The shim sees the digest that failed too. A session that is opened again proves its key with one more, if it is used.
    const seen = at.shim.digests().slice(before);
    expect(seen.length).toBeGreaterThanOrEqual(CALLERS);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test("leaves those behind one that hangs to other sessions", async () => {
    at.shim.hang("C_Sign");
    let signed = 0;
    const signing = Array.from({ length: CALLERS }, async () => {
      expect(await outcome(signer)).toBe("signed");
      signed += 1;
    });
    await until(() => signed === CALLERS - 1);
    at.shim.release();
    await Promise.all(signing);
  });

  test("returns what it signed before one that hangs, and the one that hangs is not given up on early", async () => {
    for (let round = 0; round < 10; round += 1) {
      let stopped = false;
      let ended = 0;
      const signing = Array.from({ length: CALLERS }, async () => {
        while (!stopped) expect(await outcome(signer)).toBe("signed");
        ended += 1;
      });
      at.shim.hang("C_Sign");
      await until(() => at.shim.counter("hung") === 1);
      stopped = true;
      await until(() => ended === CALLERS - 1);
      at.shim.release();
      await Promise.all(signing);
    }
  });

  test("leaves them to other sessions even if no more calls come", async () => {
    at.shim.hang("C_Sign");
    const outcomes: string[] = [];
    const signing = Array.from({ length: SESSIONS }, async () => outcomes.push(await outcome(signer)));
    await until(() => outcomes.length === SESSIONS - 1);
    expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    at.shim.release();
    await Promise.all(signing);
  });

  test("signs those behind one that hangs before the signer is closed", async () => {
    at.shim.hang("C_Sign");
    const signing = signAll();
    await until(() => at.shim.counter("hung") === 1);
    const closing = signer.close();
    at.shim.release();
    expect(new Set(await signing)).toEqual(new Set(["signed"]));
    await closing;
  });

  test("uses all sessions again once the module waits", async () => {
    at.shim.hang("C_Sign", SESSIONS);
    const signing = signAll();
    await until(() => at.shim.counter("hung") === SESSIONS);
    at.shim.release();
    expect(new Set(await signing)).toEqual(new Set(["signed"]));
  });

  test("signs what comes long after the last one", async () => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(new Set(await signAll())).toEqual(new Set(["signed"]));
  });
});
