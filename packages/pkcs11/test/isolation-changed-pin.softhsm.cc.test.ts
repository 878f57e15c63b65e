import { expect, test } from "vitest";
import { moduleChild } from "./support/isolation.ts";
import { changePin, closeAllSessions } from "./support/module-user.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { openingOutcome, outcome, until } from "./support/signing.ts";

const at = useShimmedToken(1);
const NEW_PIN = "24681357";
/** Nothing here is slow by itself; a machine may be. Milliseconds. */
const PATIENT = { attemptTimeoutMs: 10_000, deadlineMs: 40_000 };
const DIFFERS = "the PIN is not the one that the token last accepted";

async function endChild(): Promise<void> {
  process.kill(await moduleChild(), "SIGKILL");
}

test("signers with a PIN from before it was changed continue with the login of one with the new PIN, in each child", async () => {
  const base = { ...at.base, isolation: "process", policy: PATIENT } as const;
  const old = [await at.opener.open(base), await at.opener.open(base)];
  await at.hsm.pkcs11Tool("--change-pin", "--new-pin", NEW_PIN);
  try {
    await endChild();
    for (const signer of old) await until(async () => (await outcome(signer)) === "pin_incorrect");
    const signer = await at.opener.open({ ...base, pin: NEW_PIN });
    await until(async () => (await Promise.all(old.map(outcome))).every((each) => each === "signed"));
    const logins = at.shim.calls("C_Login");

    await endChild();
    expect(await Promise.all([...old, signer].map(outcome))).toEqual(["signed", "signed", "signed"]);
    expect(at.shim.calls("C_Login")).toBe(logins + 1);
    for (const each of old) {
      await until(() => each.health().notes.includes(DIFFERS));
      expect(each.health().status).toBe("ready");
    }
    expect(signer.health().notes).not.toContain(DIFFERS);
  } finally {
    await at.hsm.pkcs11Tool("--login", "--pin", NEW_PIN, "--change-pin", "--new-pin", at.hsm.pin);
  }
});

test("a PIN source that hangs in the next child does not keep a signer of another token from being opened", async () => {
  const base = { ...at.base, isolation: "process" } as const;
  const other = await at.hsm.addToken();
  await other.generateKey({ label: "k1", id: "01" });
  const pins = { hangs: false, asked: 0 };
  let release: (pin: string) => void = () => {};
  const pin = (): string | Promise<string> => {
    pins.asked += 1;
    return pins.hangs ? new Promise((resolve) => (release = resolve)) : at.hsm.pin;
  };
  const hanging = await at.opener.open({ ...base, pin });
  pins.hangs = true;
  await endChild();
  await until(() => pins.asked === 2);
  const signer = await at.opener.open({ ...base, token: other.tokenLabel, pin: other.pin });
  expect(await outcome(signer)).toBe("signed");
  release(at.hsm.pin);
  await until(async () => (await outcome(hanging)) === "signed");
});

test("a signer whose PIN source fails continues with the login of another one in the next child", async () => {
  const base = { ...at.base, isolation: "process" } as const;
  const pins = { fails: false };
  const pin = (): string => {
    if (pins.fails) throw new Error("the vault is sealed");
    return at.hsm.pin;
  };
  const signer = await at.opener.open(base);
  const failing = await at.opener.open({ ...base, pin });
  pins.fails = true;
  await endChild();
  await until(async () => (await outcome(failing)) === "signed");
  expect(await outcome(signer)).toBe("signed");
});

test("a PIN that is confirmed after the signer that logged in is closed lets no wrong one in", async () => {
  const base = { ...at.base, isolation: "process" } as const;
  const pins = { hangs: false, asked: 0 };
  let release: (pin: string) => void = () => {};
  const pin = (): string | Promise<string> => {
    pins.asked += 1;
    return pins.hangs ? new Promise((resolve) => (release = resolve)) : at.hsm.pin;
  };
  const stays = await at.opener.open({ ...base, pin });
  const leaves = await at.opener.open(base);
  pins.hangs = true;
  await endChild();
  await until(async () => (await outcome(stays)) === "signed");
  expect(pins.asked).toBe(2);
  await leaves.close();
  pins.hangs = false;
  release(at.hsm.pin);
  for (let round = 0; round < 2; round += 1)
    expect(await openingOutcome(at.opener.open({ ...base, pin: NEW_PIN }))).toBe("pin_incorrect");
  const right = await at.opener.open(base);
  expect(right.health().notes).not.toContainEqual(expect.stringContaining("not proven"));
});

test("a signer with the old PIN continues with the login of one with the new PIN, also after that one is closed", async () => {
  const base = { ...at.base, isolation: "thread", policy: PATIENT } as const;
  let pin = at.hsm.pin;
  const current = await at.opener.open({ ...base, pin: () => pin });
  const old = await at.opener.open(base);
  changePin(at.shim.module, at.hsm.tokenLabel, at.hsm.pin, NEW_PIN);
  pin = NEW_PIN;
  try {
    closeAllSessions(at.shim.module, at.hsm.tokenLabel);
    await until(async () => (await outcome(old)) === "signed");
    await until(() => old.health().notes.includes(DIFFERS));
    await current.close();
    closeAllSessions(at.shim.module, at.hsm.tokenLabel);
    await until(async () => (await outcome(old)) === "signed");
    expect(old.health().status).toBe("ready");
  } finally {
    await at.hsm.pkcs11Tool("--login", "--pin", NEW_PIN, "--change-pin", "--new-pin", at.hsm.pin);
  }
});
