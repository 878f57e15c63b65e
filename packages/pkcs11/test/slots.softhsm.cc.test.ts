import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openSigner } from "@signpost/core";
import { openPkcs11Signer, pkcs11, type Pkcs11SignerOptions } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type GeneratedKey, type SoftHsm, type SoftHsmToken, startSoftHsm } from "@signpost/test-backends/softhsm";
import { moduleChild } from "./support/isolation.ts";
import { initialize } from "./support/module-user.ts";
import { createOpener, type GuardedOptions, outcome, signsAndVerifies, until } from "./support/signing.ts";

/** As AWS CloudHSM numbers its slots: as numbers of JavaScript the two are one. */
const FIRST = 2305843009213693953n;
const SECOND = FIRST + 1n;
const ISOLATIONS = ["thread", "process"] as const;

interface TwoTokens {
  readonly hsm: SoftHsm;
  readonly a: SoftHsmToken;
  readonly b: SoftHsmToken;
  readonly keyA: GeneratedKey;
  readonly keyB: GeneratedKey;
}

const opener = createOpener();
let two: TwoTokens;
let shim: Pkcs11Shim;

beforeAll(async () => {
  const hsm = await startSoftHsm({ label: "hsm-a" });
  const b = await hsm.addToken({ label: "hsm-b" });
  const name = { label: "k1", id: "01" };
  two = { hsm, a: hsm, b, keyA: await hsm.generateKey(name), keyB: await b.generateKey(name) };
});
afterAll(() => two.hsm.stop());
beforeEach(async () => {
  shim = await startShim(two.hsm.module);
  shim.slots({ first: FIRST });
});
afterEach(async () => {
  shim.clear();
  await opener.closeAll();
  await shim.stop();
});

const onA = (options: Partial<GuardedOptions> = {}): GuardedOptions => ({
  module: shim.module,
  token: "hsm-a",
  object: "k1",
  pin: two.a.pin,
  sessions: 2,
  ...options,
});
const onB = (options: Partial<GuardedOptions> = {}): GuardedOptions =>
  onA({ token: "hsm-b", pin: two.b.pin, ...options });
const logins = (): readonly number[] => shim.logins().slice(0, 2);
const publicHalf = (key: GeneratedKey): object => key.publicKey.export({ format: "jwk" });

describe.each(ISOLATIONS)("two slots above 2^53, isolation %s", (isolation) => {
  test("each token has its own key, its own login and its own PIN", async () => {
    const b = await opener.open(onB({ isolation }));
    expect(publicHalf(two.keyB)).toMatchObject(b.publicKey);
    expect(b.uri).toContain("token=hsm-b;");
    expect(logins()).toEqual([0, 1]);
    const a = await opener.open(onA({ isolation }));
    expect(publicHalf(two.keyA)).toMatchObject(a.publicKey);
    expect(logins()).toEqual([1, 1]);
    expect(await Promise.all([a, b, a, b].map((signer) => signsAndVerifies(signer)))).toEqual(Array(4).fill(true));
  });

  test("a wrong PIN for the one is not sent to the other", async () => {
    // Another one each time: this process sends none twice that the token refused.
    const wrong = onB({ isolation, pin: isolation === "thread" ? "00000000" : "11111111" });
    await expect(opener.open(wrong)).rejects.toMatchObject({ code: "pin_incorrect" });
    expect(logins()).toEqual([0, 1]);
    expect(await outcome(await opener.open(onA({ isolation })))).toBe("signed");
  });

  test("a token that cannot be read now is not reported as missing", async () => {
    // The second one of each list.
    shim.fail("C_GetTokenInfo", 0x30, { every: 2 });
    await expect(opener.open(onB({ isolation }))).rejects.toMatchObject({
      code: "unavailable",
      transient: true,
      message: expect.stringContaining(
        `slot ${SECOND} cannot be read (C_GetTokenInfo: CKR_DEVICE_ERROR (0x30))`,
      ) as string,
    });
  });

  test("a token that cannot be read for a moment is opened", async () => {
    shim.fail("C_GetTokenInfo", 0x05, { times: 2 });
    const signer = await opener.open(onB({ isolation }));
    expect(publicHalf(two.keyB)).toMatchObject(signer.publicKey);
  });

  test("a token that the module missed when it was initialized is opened", async () => {
    // SoftHSM misses one to which another process logs in at that time.
    shim.fail("C_GetTokenInfo", 0xe1, { times: 1 });
    expect(await outcome(await opener.open(onA({ isolation })))).toBe("signed");
    expect(shim.calls("C_Initialize")).toBe(2);
  });

  test("a token that cannot be read until the module is started again is opened, next to another one", async () => {
    const a = await opener.open(onA({ isolation, sessions: 1 }));
    // Each of both tokens three times.
    shim.fail("C_GetTokenInfo", 0x05, { times: 6 });
    const b = await opener.open(onB({ isolation }));
    expect(publicHalf(two.keyB)).toMatchObject(b.publicKey);
    expect(await outcome(a)).toBe("signed");
  });

  test("health says why a token that is open cannot be read", async () => {
    const signer = await opener.open(onB({ isolation, sessions: 1 }));
    shim.fail("C_GetTokenInfo", 0x06);
    shim.fail("C_Sign", 0x30, { times: 1 });
    await outcome(signer);
    const said = `slot ${SECOND} cannot be read (C_GetTokenInfo: CKR_FUNCTION_FAILED (0x6))`;
    const notes = (): string => signer.health().notes.join();
    const patience = { interval: 10, timeout: 20_000 };
    await expect.poll(notes, patience).toContain(said);
    // A session that is tried by itself says so too.
    await expect.poll(notes, patience).toMatch(/no session is open: C_GetTokenInfo: CKR_FUNCTION_FAILED \(0x6\)$/);
  });

  test.each([
    ["a bigint", SECOND],
    ["text", SECOND.toString()],
  ])("slotId names a slot, as %s", async (_how, slotId) => {
    const signer = await opener.open(onB({ isolation, token: undefined, slotId }));
    expect(publicHalf(two.keyB)).toMatchObject(signer.publicKey);
    expect(logins()).toEqual([0, 1]);
    expect(JSON.stringify(signer.health())).toContain("ready");
  });

  test("slot-id of a URI names a slot", async () => {
    for (const [slot, token, key] of [
      [FIRST, two.a, two.keyA],
      [SECOND, two.b, two.keyB],
    ] as const) {
      const uri = `pkcs11:slot-id=${slot};object=k1?module-path=${shim.module}`;
      await using signer = await openSigner(uri, [pkcs11({ isolation, pin: token.pin, sessions: 1 })]);
      expect(publicHalf(key)).toMatchObject(signer.publicKey);
    }
    expect(logins()).toEqual([1, 1]);
  });

  test("messages give complete slot numbers", async () => {
    const options: Pkcs11SignerOptions = { ...onA({ isolation, token: undefined }) };
    const error: unknown = await openPkcs11Signer(options).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ambiguous_key" });
    expect(String(error)).toContain(`slot ${FIRST}`);
    expect(String(error)).toContain(`slot ${SECOND}`);
    const nowhere: unknown = await openPkcs11Signer({ ...options, slotId: SECOND + 5n }).catch(
      (reason: unknown) => reason,
    );
    expect(nowhere).toMatchObject({ code: "key_not_found" });
    expect(String(nowhere)).toContain(`slotId "${SECOND + 5n}"`);
    expect(logins()).toEqual([0, 0]);
  });
});

describe("a token", () => {
  test("is opened where it cannot be read for a moment, before its login and after it", async () => {
    const signer = await opener.open(onA({ sessions: 1 }));
    const readings = shim.calls("C_GetTokenInfo");
    await signer.close();
    for (let every = 2; every <= readings; every += 1) {
      shim.fail("C_GetTokenInfo", 0x5, { every, times: 1 });
      expect(await outcome(await opener.open(onA({ sessions: 1 })))).toBe("signed");
      await opener.closeAll();
    }
  });
});

describe("a number with 64 bits", () => {
  test("of a slot is exact up to the highest", async () => {
    shim.slots({ first: 2n ** 64n - 2n });
    const signer = await opener.open(onB({ token: undefined, slotId: 2n ** 64n - 1n }));
    expect(publicHalf(two.keyB)).toMatchObject(signer.publicKey);
    expect(logins()).toEqual([0, 1]);
  });
});

describe("a CKR code with 64 bits", () => {
  test.each(ISOLATIONS)("is not shown as another one, isolation %s", async (isolation) => {
    shim.fail("C_OpenSession", -1);
    const error: unknown = await openPkcs11Signer(onA({ isolation })).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(String(error)).toContain("C_OpenSession: CKR about 0xffffffffffffffff (pkcs11js rounds codes above 2^53)");
  });
});

describe("tokens that change places", () => {
  test("are told apart by label and serial: no PIN goes to the other one, and the key is found again", async () => {
    const signer = await opener.open(onA({ sessions: 1 }));
    expect(logins()).toEqual([1, 0]);
    shim.slots({ first: FIRST, swapped: true });
    shim.fail("C_Sign", 0xb3, { times: 1 });
    await until(async () => (await outcome(signer)) === "signed");
    expect(logins()).toEqual([2, 0]);
    expect(shim.calls("C_Finalize")).toBe(1);
    expect(signer.health().status).toBe("ready");
  });
  test("are found again in a module that is not ours to finalize", async () => {
    const end = initialize(shim.module);
    const signer = await opener.open(onA());
    shim.slots({ first: FIRST, swapped: true });
    shim.fail("C_Sign", 0xb3, { times: 1 });
    await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready");
    expect(logins()).toEqual([2, 0]);
    expect(shim.calls("C_Finalize")).toBe(0);
    // The pool knows where its token is: another signer shares its sessions.
    await opener.open(onA());
    expect(logins()).toEqual([2, 0]);
    expect(shim.counter("openSessions")).toBeLessThanOrEqual(2);
    await opener.closeAll();
    end();
  });

  test.each(["by its slot", "by its label"])(
    "between two child processes, a token that was asked for %s is found again",
    async (how) => {
      const name = how === "by its slot" ? { token: undefined, slotId: FIRST } : {};
      const signer = await opener.open(onA({ isolation: "process", sessions: 1, ...name }));
      expect(logins()).toEqual([1, 0]);
      shim.slots({ first: FIRST, swapped: true });
      process.kill(await moduleChild(), "SIGKILL");
      await until(async () => (await outcome(signer)) === "signed");
      expect(logins()).toEqual([2, 0]);
      expect(signer.health().status).toBe("ready");
    },
  );
});
