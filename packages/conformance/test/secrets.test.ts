import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { assertErrorKeepsSecrets, assertValueKeepsSecrets } from "../src/secrets.ts";

const SECRET = "correct horse";
const DIGEST = Uint8Array.from({ length: 32 }, (_, index) => index + 1);

/** An error that prints nothing of itself, so that only its members can show something. */
function silent(
  message: string,
  { cause, ...more }: { readonly cause?: unknown } & Record<string, unknown> = {},
): Error {
  return Object.assign(new Error(message, { cause }), { [inspect.custom]: () => "an error" }, more);
}

const searched = (error: unknown) => () => assertErrorKeepsSecrets(error, [SECRET], DIGEST, "the call");

describe("an error is searched", () => {
  test.each<[string, unknown, string]>([
    ["as it is printed", new Error(`no ${SECRET}`), "util.inspect of the call shows secrets[0]"],
    ["in its message", silent(`no ${SECRET}`), "message of the call shows secrets[0]"],
    ["in its stack", silent("no", { stack: `Error\n    at ${SECRET}` }), "stack of the call shows secrets[0]"],
    ["in its members", silent("no", { request: { pin: SECRET } }), "JSON of the call shows secrets[0]"],
    ["in its cause", silent("no", { cause: new Error(SECRET) }), "message of cause 1 of the call shows secrets[0]"],
    [
      "in the cause of its cause",
      silent("no", { cause: silent("no", { cause: silent("no", { pin: SECRET }) }) }),
      "JSON of cause 2 of the call shows secrets[0]",
    ],
    [
      "for the digest in hexadecimal",
      silent(Buffer.from(DIGEST).toString("hex")),
      "message of the call shows the digest",
    ],
    [
      "for the digest in base64",
      silent(Buffer.from(DIGEST).toString("base64")),
      "message of the call shows the digest",
    ],
  ])("%s", (_where, error, complaint) => {
    expect(searched(error)).toThrow(complaint);
  });

  test("and found clean if it shows nothing", () => {
    expect(searched(silent("no", { cause: silent("no"), attempts: 3n }))).not.toThrow();
  });

  test("to its end, even if it is its own cause", () => {
    const circle = silent("no");
    circle.cause = circle;
    expect(searched(circle)).not.toThrow();
  });
});

describe("every usual form is found", () => {
  const secret = 'a"b\\c d?é~';
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");

  test.each<[form: string, text: string]>([
    ["as it is", secret],
    ["with line breaks in it", [...secret].join("\n")],
    ["as JSON", JSON.stringify(secret)],
    ["in a URI", encodeURIComponent(secret)],
    ["in hexadecimal", hex],
    ["in hexadecimal in upper case", hex.toUpperCase()],
    ["in hexadecimal, in pairs", hex.replaceAll(/../g, "$& ")],
    ["in base64", bytes.toString("base64")],
    ["in base64 in lines", bytes.toString("base64").replaceAll(/..../g, "$&\n")],
    ["in base64url", bytes.toString("base64url")],
    ["as decimal numbers", [...bytes].join(", ")],
    ["as the JSON of its bytes", JSON.stringify(Uint8Array.from(bytes))],
  ])("of a secret: %s", (_form, text) => {
    expect(() => assertErrorKeepsSecrets(silent(`x ${text} y`), [secret], DIGEST, "the call")).toThrow(
      "message of the call shows secrets[0]",
    );
  });

  test.each<[form: string, text: string]>([
    ["in hexadecimal", Buffer.from(DIGEST).toString("hex")],
    ["in hexadecimal in upper case", Buffer.from(DIGEST).toString("hex").toUpperCase()],
    ["in base64", Buffer.from(DIGEST).toString("base64")],
    ["in base64url", Buffer.from(DIGEST).toString("base64url")],
    ["as decimal numbers", [...DIGEST].join(",")],
    ["as the JSON of its bytes", JSON.stringify(DIGEST)],
  ])("of the digest: %s", (_form, text) => {
    expect(searched(silent(`x ${text} y`))).toThrow("message of the call shows the digest");
  });

  test("but not bytes after another first member", () => {
    const members = JSON.stringify(DIGEST).replace('"0"', '"10"');
    expect(searched(silent(members))).not.toThrow();
  });

  test("and the second of two secrets is named by its place", () => {
    expect(() => assertValueKeepsSecrets("the second one", ["the first one", "the second one"], "uri")).toThrow(
      "uri shows secrets[1]",
    );
    expect(() => assertValueKeepsSecrets("another", ["the first one", "the second one"], "uri")).not.toThrow();
  });

  test("and depth, length and causes hide nothing", () => {
    const deep = Array.from({ length: 20 }).reduce<unknown>((inner) => ({ inner: [inner] }), SECRET);
    const long = [...Array.from({ length: 500 }, () => 0), SECRET];
    const text = `${"x".repeat(50_000)}${SECRET}`;
    for (const value of [deep, long, text])
      expect(() => assertValueKeepsSecrets(value, [SECRET], "the signer")).toThrow("the signer shows secrets[0]");
    const third = silent("no", { cause: silent("no", { cause: silent("no", { cause: silent(SECRET) }) }) });
    expect(searched(third)).toThrow("message of cause 3 of the call shows secrets[0]");
  });
});

describe("a value is searched", () => {
  const search = (value: unknown) => () => assertValueKeepsSecrets(value, [SECRET], "the signer");

  test("even if an array or an object in it holds itself", () => {
    const list: unknown[] = [{ [inspect.custom]: () => "hidden", pin: SECRET }];
    list.unshift(list);
    const object: Record<string, unknown> = { list };
    object["self"] = object;
    expect(search(object)).toThrow("JSON of the signer shows secrets[0]");
    expect(search([list[0]])).toThrow("shows secrets[0]");
    const clean: unknown[] = [];
    clean.push(clean, 1n);
    expect(search(clean)).not.toThrow();
  });

  test.each([undefined, () => SECRET.length, 7n, null])(
    "also if it is %s, which has no JSON or no members",
    (value) => {
      expect(search(value)).not.toThrow();
    },
  );
});
