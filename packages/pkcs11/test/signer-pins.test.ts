import { describe, expect, test } from "vitest";
import type { LoginPins } from "../src/pool/login-pins.ts";
import { SignerPins, type TakenPin } from "../src/pool/signer-pins.ts";
import { type PinSource, pinSource, readPin } from "../src/request/pin.ts";
import { differsFromAccepted } from "../src/wire/pin-error.ts";

/** The token is logged in with 1234. */
const pins: LoginPins = {
  forgotten: 0,
  take: async (source) => ({ pin: await readPin(source), done: () => {} }),
  compare: async (source) => ((await readPin(source)) === "1234" ? "proven" : "changed"),
  offer: () => () => {},
};

const taken = async (source: PinSource): Promise<TakenPin> => ({
  source,
  attempt: { pin: await readPin(source), done: () => {} },
});

async function loggedIn() {
  const signers = new SignerPins({ label: "op", serial: "1" }, pins);
  const accepted = pinSource("1234");
  signers.add(accepted);
  signers.accepted(await taken(accepted), false);
  return { signers, accepted };
}

describe("the PIN that a token accepted, of a signer that is closed", () => {
  test("is kept for the logins of other signers, whose own is not known to be right", async () => {
    const { signers, accepted } = await loggedIn();
    const other = pinSource("4321");
    signers.add(other);
    await signers.admit(other);
    signers.remove(accepted);
    expect(signers.source).toBe(accepted);
    expect(signers.note(other)).toMatch(/was changed/);
  });

  test("is dropped immediately if an open signer has the same PIN", async () => {
    const { signers, accepted } = await loggedIn();
    const same = pinSource(async () => "1234");
    signers.add(same);
    await signers.admit(same);
    signers.remove(accepted);
    expect(signers.source).toBe(same);
  });

  test("is dropped as soon as a new signer has the same PIN", async () => {
    const { signers, accepted } = await loggedIn();
    const other = pinSource("4321");
    signers.add(other);
    await signers.admit(other);
    signers.remove(accepted);
    const same = pinSource("1234");
    signers.add(same);
    await signers.admit(same);
    expect(signers.source).toBe(same);
  });

  test("is dropped with the last signer of the token", async () => {
    const { signers, accepted } = await loggedIn();
    signers.remove(accepted);
    signers.close();
    expect(signers.source).toBeUndefined();
  });
});

describe("a PIN that differs from the accepted one", () => {
  const token = { label: "op", serial: "1" };

  /** The sources that returned the accepted PIN at first, and which of them were compared with since. */
  async function proven() {
    const now = { first: "1234", second: "1234", third: "1234" };
    const asked: string[] = [];
    const compare: LoginPins["compare"] = async (source, _token, accepted) => {
      const pin = await readPin(source);
      if (pin === "1234") return "proven";
      asked.push(accepted?.name ?? "none");
      if (accepted !== undefined && pin === (await readPin(accepted))) return "changed";
      throw differsFromAccepted(token, source.name);
    };
    const signers = new SignerPins(token, { ...pins, compare });
    const first = pinSource(() => now.first, "first");
    signers.add(first);
    signers.accepted(await taken(first), false);
    const ofSecond = (): string => now.second;
    for (const source of [
      pinSource(ofSecond, "second"),
      pinSource(ofSecond, "second again"),
      pinSource(() => now.third, "third"),
    ]) {
      signers.add(source);
      await signers.admit(source);
    }
    const admit = async (pin: string | (() => string)): Promise<string> => {
      const source = pinSource(pin, "new");
      signers.add(source);
      return signers.admit(source).then(
        () => signers.note(source) ?? "proven",
        (error: unknown) => String(error),
      );
    };
    return { now, asked, admit };
  }

  test("is being changed if any proven source returns it now", async () => {
    const { now, asked, admit } = await proven();
    now.third = "5678";
    expect(await admit("5678")).toMatch(/the PIN was changed/);
    // Each function once.
    expect(asked).toEqual(["first", "second", "third"]);
  });

  test("is refused if no proven source returns it, nor a source that was never proven", async () => {
    const { now, asked, admit } = await proven();
    now.second = "5678";
    expect(await admit("5678")).toMatch(/the PIN was changed/);
    now.second = "1234";
    asked.length = 0;
    expect(await admit("5678")).toMatch(/is not the one that it accepted/);
    expect(asked).toEqual(["first", "second", "third"]);
  });

  test("is refused if another thread made the login, and no source here was proven", async () => {
    const compare: LoginPins["compare"] = async (source) => {
      throw differsFromAccepted(token, source.name);
    };
    const signers = new SignerPins(token, { ...pins, compare });
    signers.covered();
    const source = pinSource("5678", "new");
    signers.add(source);
    await expect(signers.admit(source)).rejects.toMatchObject({ code: "pin_incorrect" });
  });

  test("is refused with the error of the first comparison, and no other source is asked if that one fails", async () => {
    const failing = pinSource("5678", "failing");
    let compared = 0;
    const compare: LoginPins["compare"] = async (source) => {
      if (source !== failing) return "proven";
      compared += 1;
      throw new Error("gone");
    };
    const signers = new SignerPins(token, { ...pins, compare });
    const first = pinSource("1234", "first");
    signers.add(first);
    signers.accepted(await taken(first), false);
    const second = pinSource("1234", "second");
    signers.add(second);
    await signers.admit(second);
    signers.add(failing);
    await expect(signers.admit(failing)).rejects.toThrow("gone");
    expect(compared).toBe(1);
  });
});

describe.each([
  ["a login", false, 1],
  ["a login for one signature", true, 0],
])("a PIN that was proven, after %s", (_what, forSignature, comparisons) => {
  const token = { label: "op", serial: "1" };

  /** Two signers that were proven. Then the PIN was changed, the first one's source gave the new one, and the token took it. */
  async function changed(ofSecond: { readonly pin: string; readonly later: string }) {
    let [now, given] = ["1234", ofSecond.pin];
    let compared = 0;
    const compare: LoginPins["compare"] = async (source) => {
      compared += 1;
      if ((await readPin(source)) === now) return "proven";
      throw differsFromAccepted(token, source.name);
    };
    const signers = new SignerPins(token, { ...pins, compare });
    const first = pinSource(() => now, "first");
    const second = pinSource(() => given, "second");
    signers.add(first);
    signers.accepted(await taken(first), false);
    signers.add(second);
    await signers.admit(second);
    [now, given] = ["5678", ofSecond.later];
    const signAgain = async () => {
      signers.accepted(await taken(first), forSignature);
      await new Promise((resolve) => void setImmediate(resolve));
    };
    await signAgain();
    return { signers, first, second, signAgain, compared: () => compared };
  }

  test("differs if it is another one, and replaces none", async () => {
    const { signers, first, second } = await changed({ pin: "1234", later: "1234" });
    expect(signers.note(second)).toMatch(/not the one that the token last accepted/);
    signers.remove(first);
    expect(signers.source).toBe(first);
  });

  test("stays proven if it is the same one", async () => {
    const { signers, first, second } = await changed({ pin: "1234", later: "5678" });
    expect(signers.note(second)).toBeUndefined();
    signers.remove(first);
    expect(signers.source).toBe(second);
  });

  test(`is compared ${comparisons} times when the token accepts the same one again`, async () => {
    const { signAgain, compared } = await changed({ pin: "1234", later: "5678" });
    const before = compared();
    await signAgain();
    expect(compared() - before).toBe(comparisons);
  });
});

describe("the next PIN", () => {
  test("comes from another signer, once one was refused", async () => {
    const { signers, accepted } = await loggedIn();
    const other = pinSource("4321");
    signers.add(other);
    signers.refused(accepted);
    expect(signers.source).toBe(other);
    signers.refused(other);
    expect(signers.source).toBe(accepted);
  });
});

describe("a source that fails", () => {
  const broken = () => {
    throw new Error("gone");
  };

  test("leaves the login to another signer's source", async () => {
    const { signers, accepted } = await loggedIn();
    const failing = pinSource(broken);
    signers.add(failing);
    expect(await signers.take(failing)).toMatchObject({ source: accepted, attempt: { pin: "1234" } });
  });

  test("gives the error if no other source returns a PIN, and is asked once", async () => {
    const signers = new SignerPins({ label: "op", serial: "1" }, pins);
    let asked = 0;
    const counted = () => {
      asked += 1;
      return broken();
    };
    signers.add(pinSource(counted, "first"));
    const second = pinSource(counted, "second");
    signers.add(second);
    await expect(signers.take(second)).rejects.toThrow(/second gave no PIN/);
    expect(asked).toBe(1);
  });
});
