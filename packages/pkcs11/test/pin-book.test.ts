import { describe, expect, test } from "vitest";
import { PinBook } from "../src/process/pin-book.ts";
import { pinSource } from "../src/request/pin.ts";

describe("the PINs that a child process may ask for", () => {
  test("equal ones have one number, others have another", () => {
    const pins = new PinBook();
    expect(pins.retain(pinSource("1234"))).toBe(pins.retain(pinSource("1234")));
    expect(pins.retain(pinSource("4321"))).not.toBe(pins.retain(pinSource("1234")));
  });

  test("one that was never asked for is forgotten with its last signer", async () => {
    const pins = new PinBook();
    const number = pins.retain(pinSource("1234"));
    pins.retain(pinSource("1234"));
    pins.release(number);
    pins.release(number);
    expect(await pins.read(number)).toBeUndefined();
  });

  test("one that was asked for is kept without a signer, until the child ends", async () => {
    const pins = new PinBook();
    const number = pins.retain(pinSource("1234"));
    await pins.read(number);
    pins.release(number);
    expect(await pins.read(number)).toBe("1234");
    pins.childEnded();
    expect(await pins.read(number)).toBeUndefined();
  });

  test("one of an open signer outlives the child", async () => {
    const pins = new PinBook();
    const number = pins.retain(pinSource("1234"));
    pins.childEnded();
    expect(await pins.read(number)).toBe("1234");
  });

  test("one that no child has asked for since the last one ended goes with its signer", async () => {
    const pins = new PinBook();
    const number = pins.retain(pinSource("1234"));
    await pins.read(number);
    pins.childEnded();
    pins.release(number);
    expect(await pins.read(number)).toBeUndefined();
  });
});
