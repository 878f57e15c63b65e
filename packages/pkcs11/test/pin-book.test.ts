import { describe, expect, test } from "vitest";
import type { LoginPins } from "../src/pool/login-pins.ts";
import { PinBook } from "../src/process/pin-book.ts";
import { pinSource, readPin } from "../src/request/pin.ts";

const TOKEN = { label: "op", serial: "1" };
const OTHER_TOKEN = { label: "op", serial: "2" };

/** The token accepts 1234 alone. */
const pins: LoginPins = {
  forgotten: 0,
  take: async (source) => ({ pin: await readPin(source), done: () => {} }),
  compare: async (source) => ((await readPin(source)) === "1234" ? "proven" : "changed"),
  offer: () => () => {},
};

/** The PIN, or undefined where the book has forgotten it. */
async function take(book: PinBook, number: number): Promise<string | undefined> {
  const attempt = await book.take(number, TOKEN).catch(() => undefined);
  attempt?.done("unknown");
  return attempt?.pin;
}

/** A signer's PIN that the token accepted, and that is gone with its signer otherwise. */
async function withAccepted(): Promise<{ readonly book: PinBook; readonly accepted: number }> {
  const book = new PinBook(pins);
  const accepted = book.add(pinSource("1234"));
  (await book.take(accepted, TOKEN)).done("accepted");
  book.release(accepted);
  return { book, accepted };
}

describe("the PINs that a child process may ask for", () => {
  test("one that no token accepted is forgotten with its signer", async () => {
    const book = new PinBook(pins);
    const number = book.add(pinSource("1234"));
    expect(await take(book, number)).toBe("1234");
    book.release(number);
    book.forgetUnneeded([]);
    expect(await take(book, number)).toBeUndefined();
  });

  test("one that the token accepted is kept while another signer of that token is open", async () => {
    const { book, accepted } = await withAccepted();
    const pin = book.add(pinSource("4321"));
    book.forgetUnneeded([{ token: TOKEN, pin }]);
    expect(await take(book, accepted)).toBe("1234");
    book.forgetUnneeded([]);
    expect(await take(book, accepted)).toBeUndefined();
  });

  test("a signer of another token is no reason to keep it", async () => {
    const { book, accepted } = await withAccepted();
    book.forgetUnneeded([{ token: OTHER_TOKEN, pin: book.add(pinSource("1234")) }]);
    expect(await take(book, accepted)).toBeUndefined();
  });

  test("it is not kept once the PIN of an open signer was found to be the same", async () => {
    const { book, accepted } = await withAccepted();
    const pin = book.add(pinSource("1234"));
    expect(await book.compare(pin, TOKEN, accepted)).toBe("proven");
    book.forgetUnneeded([{ token: TOKEN, pin }]);
    expect(await take(book, accepted)).toBeUndefined();
    expect(await take(book, pin)).toBe("1234");
  });

  test("it is kept if the PIN of an open signer was the same before, and differs since the PIN was changed", async () => {
    const { book, accepted } = await withAccepted();
    const given = { pin: "1234" };
    const pin = book.add(pinSource(() => given.pin));
    expect(await book.compare(pin, TOKEN, accepted)).toBe("proven");
    given.pin = "4321";
    expect(await book.compare(pin, TOKEN, accepted)).toBe("changed");
    book.forgetUnneeded([{ token: TOKEN, pin }]);
    expect(await take(book, accepted)).toBe("1234");
  });

  test("one that is gone is no login of other code: nothing is compared with it", async () => {
    const { book, accepted } = await withAccepted();
    book.forgetUnneeded([]);
    const pin = book.add(pinSource("4321"));
    await expect(book.compare(pin, TOKEN, accepted)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("when the child ends, what its tokens accepted is forgotten", async () => {
    const { book, accepted } = await withAccepted();
    const pin = book.add(pinSource("4321"));
    book.childEnded();
    book.forgetUnneeded([{ token: TOKEN, pin }]);
    expect(await take(book, accepted)).toBeUndefined();
    expect(await take(book, pin)).toBe("4321");
  });
});
