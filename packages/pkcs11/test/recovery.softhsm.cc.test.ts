import { describe, expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { counted, openWhole as openWholeWith, request } from "./support/counted.ts";
import { closeAllSessions, finalize, initialize, logOut } from "./support/module-user.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, until } from "./support/signing.ts";

const SESSIONS = 4;
const at = useShimmedToken(SESSIONS);

const openWhole = (options?: Partial<GuardedOptions>): Promise<GuardedSigner> => openWholeWith(at, SESSIONS, options);

describe("failures that go on", () => {
  test("C_Sign is called at most twice for a request", async () => {
    const signer = await openWhole();
    at.shim.fail("C_Sign", 0xb3);
    // The second attempt meets a session that knows the key: a new one would fail at its proof.
    at.shim.delay("C_OpenSession", 500);
    expect(await request(at, signer)).toEqual({ code: "unavailable", sent: 2 });
    at.shim.delay("C_OpenSession", 0);
    const results = await Promise.all(Array.from({ length: 16 }, () => request(at, signer)));
    expect(new Set(results.map(({ code }) => code))).toEqual(new Set(["unavailable"]));
    expect(Math.max(...results.map(({ sent }) => sent))).toBeLessThanOrEqual(2);
  });

  test("a key is proven once by each session that finds it, and by no request", async () => {
    const signer = await openWhole();
    for (let count = 0; count < 3 * SESSIONS; count += 1) {
      const calls = await counted(at, ["C_Sign"], () => outcome(signer));
      expect(calls).toEqual({ C_Sign: 1 });
    }
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    const requests = 5 * SESSIONS;
    const calls = await counted(at, ["C_Sign"], async () => {
      at.shim.delay("C_Sign", 20);
      const outcomes = await Promise.all(Array.from({ length: requests }, () => outcome(signer)));
      expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    });
    // One failed and was made again, and each of the new sessions has made a proof.
    expect(calls).toEqual({ C_Sign: requests + 1 + SESSIONS });
  });

  test("repeated CKR_GENERAL_ERROR initializes the module again", async () => {
    const signer = await openWhole();
    at.shim.fail("C_Sign", 0x05, { times: 3 });
    expect(await outcome(signer)).toBe("unavailable");
    expect(at.shim.calls("C_Finalize")).toBe(0);
    expect(await outcome(signer)).toBe("signed");
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });

  test.each([
    ["CKR_HOST_MEMORY", 0x02],
    ["CKR_KEY_HANDLE_INVALID", 0x60],
    ["CKR_OBJECT_HANDLE_INVALID", 0x82],
    ["CKR_USER_NOT_LOGGED_IN", 0x101],
  ])("%s initializes the module again if no new session helps, and not before", async (_name, code) => {
    const signer = await openWholeWith(at, 1);
    at.shim.fail("C_SignInit", code, { times: 2 });
    await until(async () => (await outcome(signer)) === "signed");
    expect(at.shim.calls("C_Finalize")).toBe(0);
    at.shim.fail("C_SignInit", code);
    await until(async () => (await outcome(signer)) !== "signed" && at.shim.calls("C_Finalize") === 1);
    at.shim.clear();
    await until(async () => (await outcome(signer)) === "signed");
  });

  test("the module is not initialized again twice within 30 seconds", async () => {
    const signer = await openWhole();
    for (let round = 0; round < 3; round += 1) {
      at.shim.fail("C_Sign", 0x30, { times: 1 });
      expect(await outcome(signer)).toBe("signed");
    }
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });

  test("many requests that fail at once share one fresh start", async () => {
    const signer = await openWhole();
    at.shim.delay("C_Sign", 5);
    at.shim.fail("C_Sign", 0x30, { times: SESSIONS });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcome(signer)));
    expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    expect(at.shim.calls("C_Finalize")).toBe(1);
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
  });

  test("requests fail immediately while a device is away, and it is found again when it is back", async () => {
    const signer = await openWhole();
    for (const name of ["C_Sign", "C_OpenSession", "C_Initialize"] as const) at.shim.fail(name, 0x32);
    expect(await outcome(signer)).toBe("unavailable");
    await until(() => signer.health().status === "down");
    const calls = await counted(at, ["C_Sign", "C_OpenSession"], async () => {
      for (let count = 0; count < 20; count += 1) expect(await outcome(signer)).toBe("unavailable");
    });
    expect(calls.C_Sign).toBe(0);
    expect(calls.C_OpenSession).toBeLessThan(5);
    at.shim.clear();
    await until(async () => (await outcome(signer)) === "signed");
    await until(() => signer.health().status === "ready");
  });
});

describe("a call that hangs", () => {
  test("the caller gets timeout in time, a fresh thread takes over, health is down and the module is never finalized meanwhile", async () => {
    const signer = await openWhole({ policy: { maxAttempts: 1 } });
    at.shim.hang("C_Sign");
    expect(await outcome(signer)).toBe("timeout");
    await until(() => at.shim.counter("openSessions") === SESSIONS + 1);
    // At any other time this would initialize the module again.
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    expect(await outcome(signer)).toBe("unavailable");
    await until(async () => (await outcome(signer)) === "signed");
    expect(at.shim.calls("C_Finalize")).toBe(0);
    expect(signer.health()).toMatchObject({
      status: "down",
      notes: [expect.stringMatching(/1 call\(s\) hang inside the module/)],
    });

    at.shim.release();
    await until(() => signer.health().status === "ready");
    await until(() => at.shim.counter("openSessions") === SESSIONS);
  });

  test("no more threads are added than there are sessions", async () => {
    const signer = await openWhole({ policy: { maxAttempts: 1, maxQueue: 100 } });
    at.shim.hang("C_Sign", 100);
    const ask = (): Promise<string[]> => Promise.all(Array.from({ length: SESSIONS }, () => outcome(signer)));
    await until(async () => {
      await ask();
      return at.shim.counter("hung") >= 2 * SESSIONS;
    }, 60_000);
    expect(new Set(await ask())).toEqual(new Set(["timeout"]));
    expect(at.shim.counter("hung")).toBe(2 * SESSIONS);
    at.shim.release();
    await until(async () => (await outcome(signer)) === "signed");
    await until(() => at.shim.counter("openSessions") === SESSIONS && signer.health().status === "ready");
  });

  test("in C_CloseSession does not keep a signer from closing, and the module is finalized once it has returned", async () => {
    const signer = await openWhole();
    at.shim.hang("C_CloseSession");
    await signer.close();
    expect(at.shim.counter("hung")).toBe(1);
    expect(at.shim.calls("C_Finalize")).toBe(0);
    at.shim.release();
    await until(() => at.shim.calls("C_Finalize") === 1);
    expect(at.shim.counter("openSessions")).toBe(0);
  });

  test("in C_CloseSession does not keep others from signing when the module has to be initialized again", async () => {
    const signer = await openWhole();
    at.shim.hang("C_CloseSession");
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    expect(await outcome(signer)).toMatch(/unavailable|timeout/);
    await until(async () => (await outcome(signer)) === "signed");
    expect(at.shim.counter("hung")).toBe(1);
    expect(at.shim.calls("C_Finalize")).toBe(0);
    await until(() => signer.health().status === "down");
    at.shim.release();
    await until(() => signer.health().status === "ready");
    expect(await outcome(signer)).toBe("signed");
  });

  test("closing does not wait for it, and the module is finalized once it has come back", async () => {
    const signer = await openWhole({ policy: { maxAttempts: 1 } });
    at.shim.hang("C_Sign");
    expect(await outcome(signer)).toBe("timeout");
    await signer.close();
    expect(at.shim.calls("C_Finalize")).toBe(0);
    at.shim.release();
    await until(() => at.shim.calls("C_Finalize") === 1);
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
  });
});

describe("other code in the process", () => {
  test.each<[what: string, act: () => void]>([
    ["closes all sessions", () => closeAllSessions(at.shim.module, at.hsm.tokenLabel)],
    ["logs everybody out", () => logOut(at.shim.module, at.hsm.tokenLabel)],
    ["finalizes the module", () => finalize(at.shim.module)],
  ])("%s: signing goes on", async (_what, act) => {
    const signer = await openWhole();
    act();
    // The first request finds out, and its second attempt does not meet another session that is as dead.
    expect(await outcome(signer)).toBe("signed");
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcome(signer)));
    expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready");
    await until(() => at.shim.counter("openSessions") === SESSIONS);
  });

  test("initialized the module: we never finalize it, and health says so", async () => {
    const end = initialize(at.shim.module);
    const signer = await openWhole();
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    expect(await outcome(signer)).toBe("signed");
    expect(signer.health().notes).toEqual([expect.stringMatching(/other code in this process initialized the module/)]);
    await signer.close();
    expect(at.shim.calls("C_Finalize")).toBe(0);
    end();
  });

  test("logged in: health says that the PIN was not proven", async () => {
    const end = initialize(at.shim.module, { token: at.hsm.tokenLabel, pin: at.hsm.pin });
    const signer = await at.opener.open({ ...at.base, pin: "00000000" });
    expect(signer.health().notes).toContainEqual(expect.stringMatching(/the PIN was not proven/));
    await signer.close();
    end();
  });
});

describe("several signers", () => {
  test("a fresh start that one of them needs does not end the opening of another", async () => {
    const signer = await openWhole();
    at.shim.delay("C_FindObjectsInit", 300);
    const searches = at.shim.calls("C_FindObjectsInit");
    const opening = at.opener.open(at.base);
    await until(() => at.shim.calls("C_FindObjectsInit") > searches);
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    const signing = outcome(signer);
    await until(() => at.shim.calls("C_Finalize") === 1);
    at.shim.delay("C_FindObjectsInit", 0);
    expect(await outcome(await opening)).toBe("signed");
    expect(await signing).toBe("signed");
  });

  test("on one token share the sessions, the module is finalized by the last, and never under a signature", async () => {
    const first = await openWhole();
    const second = await at.opener.open(at.base);
    at.shim.delay("C_Sign", 20);
    const signing = Promise.all(Array.from({ length: 12 }, () => outcome(second)));
    await first.close();
    expect(at.shim.calls("C_Finalize")).toBe(0);
    const closing = second.close();
    expect(new Set(await signing)).toEqual(new Set(["signed", "closed"]));
    await closing;
    expect(at.shim.calls("C_OpenSession")).toBe(SESSIONS);
    expect(at.shim.calls("C_Initialize")).toBe(1);
    expect(at.shim.calls("C_Finalize")).toBe(1);
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
    expect(at.shim.calls("C_Logout") + at.shim.calls("C_CloseAllSessions")).toBe(0);
  });

  test("opened and closed at the same time, again and again, all work", async () => {
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let round = 0; round < 3; round += 1) {
          const signer = await at.opener.open({ ...at.base, sessions: 2 });
          expect(await outcome(signer)).toBe("signed");
          await signer.close();
        }
      }),
    );
    expect(at.shim.counter("openSessions")).toBe(0);
  });

  test("the module is always initialized with CKF_OS_LOCKING_OK", async () => {
    await openWhole();
    expect(at.shim.counter("initializeFlags")).toBe(2);
  });
});
