import { describe, expect, test } from "vitest";
import { repeatsSecret } from "@signpost/core/adapter";

const SECRET = `hvs.CAESIJ"/&rB8fPq2Zt-x9`;
const bytes = Buffer.from(SECRET);

describe("a text repeats a secret", () => {
  test.each([
    ["whole", `token ${SECRET} is unknown`],
    ["its beginning", `token ${SECRET.slice(0, 8)}… is unknown`],
    ["its end", SECRET.slice(-8)],
    ["in lower case", `https://${SECRET.toLowerCase()}`],
    ["in lines", `${SECRET.slice(0, 4)}\n${SECRET.slice(4)}`],
    ["in base64", bytes.toString("base64")],
    ["in base64url", bytes.toString("base64url")],
    ["in base64 after one byte", Buffer.concat([Buffer.from(":"), bytes, Buffer.from("x")]).toString("base64")],
    ["in base64 after two bytes", Buffer.concat([Buffer.from("a:"), bytes]).toString("base64")],
    ["in hexadecimal", bytes.toString("hex").toUpperCase()],
    ["escaped for a URL", encodeURIComponent(SECRET)],
    ["escaped for JSON", JSON.stringify({ a: SECRET })],
  ])("%s", (_how, text) => {
    expect(repeatsSecret(text, ["other-secret", SECRET])).toBe(true);
  });

  test("that is shorter than the parts that are looked for", () => {
    expect(repeatsSecret("PIN 1234 refused", ["1234"])).toBe(true);
    expect(repeatsSecret("https://secret-1.example", ["SECRET-1"])).toBe(true);
  });

  test("that has spaces: a part of it with the spaces, or without", () => {
    const secret = "correct horse battery staple";
    expect(repeatsSecret("it is not correct horse battery", [secret])).toBe(true);
    expect(repeatsSecret("it is not correcthorsebattery", [secret])).toBe(true);
    expect(repeatsSecret("it is not CORRECT HORSE battery", [secret])).toBe(true);
    expect(repeatsSecret("it is not correct", [secret])).toBe(false);
  });

  test("perhaps, if it is too long to be searched", () => {
    expect(repeatsSecret("x".repeat(65_536), [SECRET])).toBe(false);
    expect(repeatsSecret("x".repeat(65_537), [SECRET])).toBe(true);
  });
});

test.each<[text: string, secrets: readonly (string | undefined)[]]>([
  ["", [SECRET]],
  ["the server denied permission", [SECRET]],
  [SECRET.slice(0, 7), [SECRET]],
  ["anything", []],
  ["anything", [undefined, ""]],
  ["anything", ["\ud800 a lone surrogate"]],
])("%j does not repeat one", (text, secrets) => {
  expect(repeatsSecret(text, secrets)).toBe(false);
});
