import { describe, expect, test } from "vitest";
import type { ShimFunction } from "@signpost/test-backends/pkcs11-shim";
import { closeAllSessions, finalize, initialize, logOut } from "./support/module-user.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, sha256, until } from "./support/signing.ts";

const SESSIONS = 4;
const at = useShimmedToken(SESSIONS);

/** Opens a signer and waits for all its sessions, so that every call after it belongs to the test. */
async function openWhole(options: Partial<GuardedOptions> = {}): Promise<Awaited<ReturnType<typeof at.opener.open>>> {
  const signer = await at.opener.open({ ...at.base, ...options });
  await until(
    () =>
      at.shim.calls("C_Login") + at.shim.calls("C_GetTokenInfo") >= SESSIONS &&
      at.shim.counter("openSessions") === SESSIONS,
  );
  return signer;
}

/** Calls of a function while the work runs. */
async function counted(names: readonly ShimFunction[], work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = names.map((name) => at.shim.calls(name));
  await work();
  return Object.fromEntries(names.map((name, index) => [name, at.shim.calls(name) - (before[index] ?? 0)]));
}

describe("one failure of C_Sign, by its CKR code", () => {
  test.each([
    ["CKR_OPERATION_ACTIVE", 0x90],
    ["CKR_OPERATION_NOT_INITIALIZED", 0x91],
    ["CKR_SESSION_CLOSED", 0xb0],
    ["CKR_SESSION_HANDLE_INVALID", 0xb3],
    ["CKR_USER_NOT_LOGGED_IN", 0x101],
    ["CKR_OBJECT_HANDLE_INVALID", 0x82],
    ["CKR_KEY_HANDLE_INVALID", 0x60],
    ["CKR_HOST_MEMORY, as NSS answers after a logout", 0x02],
    ["CKR_GENERAL_ERROR", 0x05],
    ["CKR_FUNCTION_FAILED", 0x06],
    ["a vendor's own code", 0x80000001],
  ])("%s: a new session that finds the key again, and the request succeeds", async (_name, code) => {
    const signer = await openWhole();
    at.shim.fail("C_Sign", code, { times: 1 });
    const opened = at.shim.calls("C_OpenSession");
    const calls = await counted(["C_OpenSession", "C_FindObjectsInit", "C_Finalize", "C_Sign"], async () => {
      expect(await outcome(signer)).toBe("signed");
      // Another session may have signed before the new one is open.
      await until(() => at.shim.calls("C_OpenSession") > opened && signer.health().status === "ready");
    });
    expect(calls).toMatchObject({ C_OpenSession: 1, C_Finalize: 0, C_Sign: 2 });
    // The new session does not know the handle: it is looked up when it is first needed.
    await until(async () => {
      await Promise.all(Array.from({ length: 4 * SESSIONS }, () => outcome(signer)));
      return at.shim.calls("C_FindObjectsInit") > SESSIONS;
    });
    expect(at.shim.counter("openSessions")).toBe(SESSIONS);
  });

  test.each([
    ["CKR_DEVICE_ERROR", 0x30],
    ["CKR_DEVICE_MEMORY", 0x31],
    ["CKR_DEVICE_REMOVED", 0x32],
    ["CKR_TOKEN_NOT_PRESENT", 0xe0],
  ])("%s: C_Finalize and C_Initialize, and the request succeeds", async (_name, code) => {
    const signer = await openWhole();
    at.shim.fail("C_Sign", code, { times: 1 });
    const opened = at.shim.calls("C_OpenSession");
    const calls = await counted(["C_Finalize", "C_OpenSession", "C_Sign"], async () => {
      expect(await outcome(signer)).toBe("signed");
      await until(() => at.shim.calls("C_OpenSession") >= opened + SESSIONS && signer.health().status === "ready");
    });
    expect(calls).toEqual({ C_Finalize: 1, C_OpenSession: SESSIONS, C_Sign: 2 });
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
    expect(signer.health().status).toBe("ready");
  });

  test.each([
    ["CKR_KEY_FUNCTION_NOT_PERMITTED", 0x68, "unsupported_key"],
    ["CKR_KEY_TYPE_INCONSISTENT", 0x63, "unsupported_key"],
    ["CKR_MECHANISM_INVALID", 0x70, "unsupported_key"],
    ["CKR_BUFFER_TOO_SMALL", 0x150, "unsupported_key"],
    ["CKR_ACTION_PROHIBITED", 0x1b, "access_denied"],
  ])("%s: the request fails, and is not tried again", async (_name, code, expected) => {
    const signer = await openWhole();
    at.shim.fail("C_Sign", code, { times: 1 });
    const calls = await counted(["C_Sign", "C_Finalize"], async () => expect(await outcome(signer)).toBe(expected));
    expect(calls).toEqual({ C_Sign: 1, C_Finalize: 0 });
    await until(() => at.shim.counter("openSessions") === SESSIONS);
    expect(await outcome(signer)).toBe("signed");
  });
});

describe("failures that go on", () => {
  test("C_Sign is called twice for a request at most", async () => {
    const signer = await openWhole();
    at.shim.fail("C_Sign", 0xb3);
    const before = at.shim.digests().length;
    const digests = Array.from({ length: 8 }, (_, index) => sha256(Buffer.from([index])));
    const results = await Promise.allSettled(digests.map((digest) => signer.sign(digest)));
    expect(results.map((result) => result.status === "rejected" && (result.reason as { code: string }).code)).toEqual(
      Array(8).fill("unavailable"),
    );
    const sent = at.shim.digests().slice(before);
    for (const digest of digests) expect(sent.filter((other) => other === digest.toString("hex")).length).toBe(2);
    expect(sent).toHaveLength(16);
  });

  test("CKR_GENERAL_ERROR again and again initialises the module anew", async () => {
    const signer = await openWhole();
    at.shim.fail("C_Sign", 0x05, { times: 3 });
    expect(await outcome(signer)).toBe("unavailable");
    expect(at.shim.calls("C_Finalize")).toBe(0);
    expect(await outcome(signer)).toBe("signed");
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });

  test("the module is not initialised anew twice within 30 seconds", async () => {
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

  test("a device that is away makes requests fail at once, and is found again when it is back", async () => {
    const signer = await openWhole();
    for (const name of ["C_Sign", "C_OpenSession", "C_Initialize"] as const) at.shim.fail(name, 0x32);
    expect(await outcome(signer)).toBe("unavailable");
    await until(() => signer.health().status === "down");
    const calls = await counted(["C_Sign", "C_OpenSession"], async () => {
      for (let count = 0; count < 20; count += 1) expect(await outcome(signer)).toBe("unavailable");
    });
    expect(calls["C_Sign"]).toBe(0);
    expect(calls["C_OpenSession"]).toBeLessThan(5);
    at.shim.clear();
    await until(async () => (await outcome(signer)) === "signed");
    await until(() => signer.health().status === "ready");
  });
});

describe("a call that hangs", () => {
  test("the caller gets timeout in time, a fresh thread takes over, health is down and the module is never finalised meanwhile", async () => {
    const signer = await openWhole({ policy: { maxAttempts: 1 } });
    at.shim.hang("C_Sign");
    expect(await outcome(signer)).toBe("timeout");
    await until(() => at.shim.counter("openSessions") === SESSIONS + 1);
    // This would initialise the module anew at any other time.
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
    const outcomes = await Promise.all(Array.from({ length: 3 * SESSIONS }, () => outcome(signer)));
    expect(new Set(outcomes)).toEqual(new Set(["timeout"]));
    expect(at.shim.counter("hung")).toBe(2 * SESSIONS);
    at.shim.release();
    await until(async () => (await outcome(signer)) === "signed");
    await until(() => at.shim.counter("openSessions") === SESSIONS && signer.health().status === "ready");
  });

  test("closing does not wait for it, and the module is finalised once it has come back", async () => {
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
    ["finalises the module", () => finalize(at.shim.module)],
  ])("%s: signing goes on", async (_what, act) => {
    const signer = await openWhole();
    act();
    // The first request finds out, and its second attempt does not meet another session that is as dead.
    expect(await outcome(signer)).toBe("signed");
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcome(signer)));
    expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready");
    expect(at.shim.counter("openSessions")).toBe(SESSIONS);
  });

  test("initialised the module: it is never finalised by us, and health says so", async () => {
    const end = initialize(at.shim.module);
    const signer = await openWhole();
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    expect(await outcome(signer)).toBe("signed");
    expect(signer.health().notes).toEqual([expect.stringMatching(/initialized by other code in this process/)]);
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
  test("on one token share the sessions, the module is finalised by the last, and never under a signature", async () => {
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

  test("the module is always initialised with CKF_OS_LOCKING_OK", async () => {
    await openWhole();
    expect(at.shim.counter("initializeFlags")).toBe(2);
  });
});
