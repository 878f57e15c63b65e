import { pbkdf2 } from "node:crypto";
import { lookup } from "node:dns/promises";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { outcome, until } from "./support/signing.ts";

const SESSIONS = 4;
const at = useShimmedToken(SESSIONS);

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
    at.shim.hang(name);
    const life = (async () => {
      const signer = await at.opener.open({ ...at.base, sessions: 1 });
      const code = await outcome(signer);
      await at.opener.closeAll();
      return code;
    })();
    await until(() => at.shim.counter("hung") === 1);
    at.shim.release();
    expect(await life).toBe("signed");
  });

  test("shares no pool with the module: files, names and keys work while every session is inside C_Sign", async () => {
    const signer = await at.opener.open(at.base);
    await until(() => at.shim.counter("openSessions") === SESSIONS);
    at.shim.hang("C_Sign", SESSIONS);
    const signing = Promise.all(Array.from({ length: SESSIONS }, () => outcome(signer)));
    await until(() => at.shim.counter("hung") === SESSIONS);
    await Promise.all([stat("."), lookup("localhost"), promisify(pbkdf2)("a", "b", 10, 32, "sha256")]);
    at.shim.release();
    expect(new Set(await signing)).toEqual(new Set(["signed"]));
  });
});

describe("sessions", () => {
  test("sign at the same time, each one signature", async () => {
    const signer = await at.opener.open(at.base);
    await until(() => at.shim.counter("openSessions") === SESSIONS);
    at.shim.delay("C_Sign", 25);
    expect(new Set(await Promise.all(Array.from({ length: 40 }, () => outcome(signer))))).toEqual(new Set(["signed"]));
    expect(at.shim.counter("maxInFlight")).toBe(SESSIONS);
  });

  test("work with a module that does one thing at a time", async () => {
    at.shim.set("serial", true);
    at.shim.delay("C_Sign", 5);
    const signer = await at.opener.open(at.base);
    expect(new Set(await Promise.all(Array.from({ length: 40 }, () => outcome(signer))))).toEqual(new Set(["signed"]));
  });
});
