import { describe, expect, test } from "vitest";
import { forgetRefusedPins } from "@signpost/pkcs11";
import { askedPin, moduleChild } from "./support/isolation.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, until } from "./support/signing.ts";

const WRONG = "00000000";
const REFUSED = { name: "SignerError", code: "pin_incorrect" };
const at = useShimmedToken();

const isolated = (options: Partial<GuardedOptions> = {}): GuardedOptions => ({
  ...at.base,
  isolation: "process",
  ...options,
});

/** A signer whose PIN is right at first, wrong in the next child. */
async function openRefused(): ReturnType<typeof at.opener.open> {
  const pin = askedPin(at.hsm.pin);
  const signer = await at.opener.open(isolated({ pin: pin.ask }));
  pin.value = WRONG;
  await killChild();
  await until(async () => (await outcome(signer)) === "pin_incorrect");
  expect(pin.asked).toBe(2);
  return signer;
}

/** As a crash of the module would. */
async function killChild(): Promise<void> {
  process.kill(await moduleChild(), "SIGKILL");
}

describe("a PIN under isolation: process", () => {
  test("is asked for again in each child, and a wrong one is final", async () => {
    const signer = await openRefused();
    await killChild();
    const logins = at.shim.calls("C_Login");
    await moduleChild();
    expect(await outcome(signer)).toBe("pin_incorrect");
    expect(signer.health().status).toBe("down");
    expect(at.shim.calls("C_Login")).toBe(logins);
  });

  test("that was refused is not sent again, from any signer; a signer with the right one opens", async () => {
    const refused = await openRefused();
    const logins = at.shim.calls("C_Login");
    await expect(at.opener.open(isolated({ pin: WRONG }))).rejects.toMatchObject(REFUSED);
    await expect(at.opener.open(isolated({ pin: askedPin(WRONG).ask }))).rejects.toMatchObject(REFUSED);
    expect(at.shim.calls("C_Login")).toBe(logins);

    const right = await at.opener.open(isolated());
    expect(await outcome(right)).toBe("signed");
    await refused.close();
    await right.close();
    // Not even once every signer is closed.
    await expect(at.opener.open(isolated({ pin: WRONG }))).rejects.toMatchObject(REFUSED);
    expect(at.shim.calls("C_Login")).toBe(logins + 1);
  });

  test("locked is final for every signer of the token, in each child, until all are closed", async () => {
    const locked = await at.opener.open(isolated());
    at.shim.fail("C_Login", 0xa4);
    await killChild();
    await until(async () => (await outcome(locked)) === "pin_locked");
    const logins = at.shim.calls("C_Login");
    at.shim.clear();
    const right = askedPin(at.hsm.pin);
    await expect(at.opener.open(isolated({ pin: right.ask }))).rejects.toMatchObject({ code: "pin_locked" });
    await killChild();
    await moduleChild();
    expect(await outcome(locked)).toBe("pin_locked");
    expect([right.asked, at.shim.calls("C_Login")]).toEqual([0, logins]);

    await locked.close();
    expect(await outcome(await at.opener.open(isolated({ pin: right.ask })))).toBe("signed");
  });

  test("that was refused leaves one try for another; after that the token gets none, however many signers there are", async () => {
    const first = askedPin(at.hsm.pin);
    const second = askedPin(at.hsm.pin);
    const signers = [
      await at.opener.open(isolated({ pin: first.ask })),
      await at.opener.open(isolated({ pin: second.ask })),
    ];
    for (const signer of signers) expect(await outcome(signer)).toBe("signed");
    const [asked, logins] = [first.asked + second.asked, at.shim.calls("C_Login")];
    first.value = WRONG;
    second.value = "11111111";
    await killChild();
    for (const signer of signers) await until(async () => (await outcome(signer)) === "pin_incorrect");
    expect(first.asked + second.asked).toBe(asked + 2);
    expect(at.shim.calls("C_Login")).toBe(logins + 2);

    // Not even the right one, and not in another child: a third wrong one would lock many tokens.
    await expect(at.opener.open(isolated())).rejects.toMatchObject(REFUSED);
    for (const signer of signers) await signer.close();
    await expect(at.opener.open(isolated())).rejects.toMatchObject(REFUSED);
    expect(at.shim.calls("C_Login")).toBe(logins + 2);
    await forgetRefusedPins();
    expect(await outcome(await at.opener.open(isolated()))).toBe("signed");
  });

  test("that was refused does not affect the module's other tokens", async () => {
    const other = await at.hsm.addToken();
    await other.generateKey({ label: "k1", id: "01" });
    const onOther = isolated({ token: other.tokenLabel, pin: other.pin });
    const good = await at.opener.open(onOther);
    const refused = await openRefused();
    await until(async () => (await outcome(good)) === "signed");
    expect(await outcome(await at.opener.open(onOther))).toBe("signed");
    expect(await outcome(refused)).toBe("pin_incorrect");
    expect(good.health().status).toBe("ready");
  });

  test("that was refused between requests is not tried again in the next child", async () => {
    const pin = askedPin(at.hsm.pin);
    const signer = await at.opener.open(isolated({ pin: pin.ask, policy: { maxAttempts: 1 } }));
    pin.value = WRONG;
    // The module is initialized again, which asks for the PIN, after the request has ended.
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    expect(await outcome(signer)).toBe("unavailable");
    await until(() => signer.health().status === "down");
    expect(pin.asked).toBe(2);
    await killChild();
    await moduleChild();
    await until(async () => (await outcome(signer)) === "pin_incorrect");
    expect(pin.asked).toBe(2);
  });

  test("that its source no longer returns does not affect a new signer: the child stays", async () => {
    let gone = false;
    const gonePin = (): string => {
      if (gone) throw new Error("the file was removed");
      return at.hsm.pin;
    };
    const signer = await at.opener.open(isolated({ pin: gonePin }));
    gone = true;
    await killChild();
    await until(async () => (await outcome(signer)) === "unavailable" && signer.health().status === "down");
    const child = await moduleChild();
    expect(await outcome(await at.opener.open(isolated()))).toBe("signed");
    expect(await moduleChild()).toBe(child);
  });

  test("that is not a PIN is a ConfigurationError, as in a thread", async () => {
    const opening = at.opener.open(isolated({ pin: async () => "" }));
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument: "pin" });
  });
});
