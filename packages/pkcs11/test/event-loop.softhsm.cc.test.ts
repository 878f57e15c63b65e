import { pbkdf2 } from "node:crypto";
import { lookup } from "node:dns/promises";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { createOpener, type GuardedOptions, outcome, until } from "./support/signing.ts";

const SESSIONS = 4;
const opener = createOpener();
let hsm: SoftHsm;
let shim: Pkcs11Shim;
let base: GuardedOptions;

beforeAll(async () => {
  hsm = await startSoftHsm();
  await hsm.generateKey({ label: "k1", id: "01" });
});
afterAll(() => hsm.stop());
beforeEach(async () => {
  shim = await startShim(hsm.module);
  base = { module: shim.module, token: hsm.tokenLabel, object: "k1", pin: hsm.pin, sessions: SESSIONS };
});
afterEach(async () => {
  shim.clear();
  await opener.closeAll();
  await shim.stop();
});

describe("the caller's thread", () => {
  // Were the call made on this thread, nothing here could let it go on: the test would never end.
  test.each([
    "C_Initialize",
    "C_GetSlotList",
    "C_GetTokenInfo",
    "C_OpenSession",
    "C_GetSessionInfo",
    "C_Login",
    "C_FindObjectsInit",
    "C_GetAttributeValue",
    "C_SignInit",
    "C_Sign",
    "C_CloseSession",
    "C_Finalize",
  ] as const)("goes on while %s does not return", async (name) => {
    shim.hang(name);
    const life = (async () => {
      const signer = await opener.open({ ...base, sessions: 1 });
      const code = await outcome(signer);
      await opener.closeAll();
      return code;
    })();
    await until(() => shim.counter("hung") === 1);
    shim.release();
    expect(await life).toBe("signed");
  });

  test("shares no pool with the module: files, names and keys are served while every session is inside C_Sign", async () => {
    const signer = await opener.open(base);
    await until(() => shim.counter("openSessions") === SESSIONS);
    shim.hang("C_Sign", SESSIONS);
    const signing = Promise.all(Array.from({ length: SESSIONS }, () => outcome(signer)));
    await until(() => shim.counter("hung") === SESSIONS);
    await Promise.all([stat("."), lookup("localhost"), promisify(pbkdf2)("a", "b", 10, 32, "sha256")]);
    shim.release();
    expect(new Set(await signing)).toEqual(new Set(["signed"]));
  });
});

describe("sessions", () => {
  test("sign at the same time, each one signature", async () => {
    const signer = await opener.open(base);
    await until(() => shim.counter("openSessions") === SESSIONS);
    shim.delay("C_Sign", 25);
    expect(new Set(await Promise.all(Array.from({ length: 40 }, () => outcome(signer))))).toEqual(new Set(["signed"]));
    expect(shim.counter("maxInFlight")).toBe(SESSIONS);
  });

  test("work with a module that does one thing at a time", async () => {
    shim.set("serial", true);
    shim.delay("C_Sign", 5);
    const signer = await opener.open(base);
    expect(new Set(await Promise.all(Array.from({ length: 40 }, () => outcome(signer))))).toEqual(new Set(["signed"]));
  });
});
