import { describe, expect, test } from "vitest";
import type { LoginPins } from "../src/pool/login-pins.ts";
import { SignerPins } from "../src/pool/signer-pins.ts";
import { pinSource, readPin } from "../src/request/pin.ts";
import { differsFromAccepted } from "../src/wire/pin-error.ts";

/** The token is logged in with 1234. */
const pins: LoginPins = {
  forgotten: 0,
  take: async (source) => ({ pin: await readPin(source), done: () => {} }),
  compare: async (source) => ((await readPin(source)) === "1234" ? "proven" : "changed"),
  offer: () => () => {},
};

function loggedIn() {
  const signers = new SignerPins({ label: "op", serial: "1" }, pins);
  const accepted = pinSource("1234");
  signers.add(accepted);
  signers.accepted(accepted, false);
  return { signers, accepted };
}

describe("the PIN that a token accepted, of a signer that is closed", () => {
  test("is kept for the logins of other signers, whose own is not known to be right", async () => {
    const { signers, accepted } = loggedIn();
    const other = pinSource("4321");
    signers.add(other);
    await signers.admit(other);
    signers.remove(accepted);
    expect(signers.source).toBe(accepted);
    expect(signers.note(other)).toMatch(/was changed/);
  });

  test("is dropped immediately if an open signer has the same PIN", async () => {
    const { signers, accepted } = loggedIn();
    const same = pinSource(async () => "1234");
    signers.add(same);
    await signers.admit(same);
    signers.remove(accepted);
    expect(signers.source).toBe(same);
  });

  test("is dropped as soon as a new signer has the same PIN", async () => {
    const { signers, accepted } = loggedIn();
    const other = pinSource("4321");
    signers.add(other);
    await signers.admit(other);
    signers.remove(accepted);
    const same = pinSource("1234");
    signers.add(same);
    await signers.admit(same);
    expect(signers.source).toBe(same);
  });

  test("is dropped with the last signer of the token", () => {
    const { signers, accepted } = loggedIn();
    signers.remove(accepted);
    signers.close();
    expect(signers.source).toBeUndefined();
  });
});

describe("a PIN that was proven", () => {
  /** Two signers that were proven. Then the PIN was changed, and the first one's source gave the new one at a login. */
  async function changed(given: { pin: string }) {
    const now = { pin: "1234" };
    const signers = new SignerPins(
      { label: "op", serial: "1" },
      {
        ...pins,
        compare: async (source) => {
          if ((await readPin(source)) === now.pin) return "proven";
          throw differsFromAccepted({ label: "op", serial: "1" }, source.name);
        },
      },
    );
    const first = pinSource(() => now.pin, "first");
    const second = pinSource(() => given.pin, "second");
    signers.add(first);
    signers.accepted(first, false);
    signers.add(second);
    await signers.admit(second);
    now.pin = "5678";
    signers.accepted(first, false);
    await new Promise((resolve) => void setImmediate(resolve));
    return { signers, first, second };
  }

  test("differs after a login with another one, and replaces none", async () => {
    const { signers, first, second } = await changed({ pin: "1234" });
    expect(signers.note(second)).toMatch(/not the one that the token last accepted/);
    signers.remove(first);
    expect(signers.source).toBe(first);
  });

  test("stays proven after a login with the same one", async () => {
    const given = { pin: "1234" };
    const changing = changed(given);
    given.pin = "5678";
    const { signers, first, second } = await changing;
    expect(signers.note(second)).toBeUndefined();
    signers.remove(first);
    expect(signers.source).toBe(second);
  });
});

describe("the next PIN", () => {
  test("comes from another signer, once one was refused", () => {
    const { signers, accepted } = loggedIn();
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
    const { signers, accepted } = loggedIn();
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
