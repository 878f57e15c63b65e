import { expect, test } from "vitest";
import { describeCall, errorOfAnswer, errorOfRequest } from "../src/errors.ts";
import type { HttpAnswer } from "../src/exchange.ts";
import { SignerError } from "@signpost/core";

const TARGET = { action: "read op", address: "https://vault.example:8200" };
const causeOf = (errors: readonly string[], changes: Partial<HttpAnswer> = {}): unknown => {
  const usual = { status: 400, json: undefined, hasErrors: true, repeatsSecrets: false, retryAfter: undefined };
  const { cause } = errorOfAnswer({ ...usual, errors, ...changes }, TARGET);
  return Reflect.get(Object(cause), "message");
};

test("a call is described with its place", () => {
  expect(describeCall(TARGET)).toBe("read op at https://vault.example:8200");
  expect(describeCall({ ...TARGET, namespace: "team" })).toBe(
    "read op at https://vault.example:8200 in the namespace team",
  );
});

test.each<[errors: readonly string[], shown: string]>([
  [[], "HTTP status 400"],
  [[" ", "\n"], "HTTP status 400: ; "],
  [[" one\n", "two "], "HTTP status 400: one; two"],
  [["x".repeat(512)], `HTTP status 400: ${"x".repeat(512)}`],
  [["x".repeat(513)], `HTTP status 400: ${"x".repeat(512)}`],
])("of the messages %j the cause says %j", (errors, shown) => {
  expect(causeOf(errors)).toBe(shown);
});

test.each([
  "hvs.12345678",
  "hvb.12345678",
  "hvr.12345678",
  "s.12345678",
  "b.12345678",
  "r.12345678",
  "a token eyJ",
  "X-Vault-Token",
  "secret_id",
  "client_token",
])("a message with %j is not shown", (text) => {
  expect(causeOf([`about ${text}!`])).toBe("HTTP status 400");
  const cut = Object.assign(new Error(`about ${text}!`), { code: "ECONNRESET" });
  const { cause } = errorOfRequest(cut, TARGET, []);
  expect(String(Reflect.get(Object(cause), "message"))).not.toContain(text);
  expect(cause).toMatchObject({ code: "ECONNRESET" });
});

test.each(["hvs.1234567", "hvx.12345678", "as.12345678", "keyJ"])("a message with %j is shown", (text) => {
  expect(causeOf([text])).toBe(`HTTP status 400: ${text}`);
});

test("a message that repeats what was sent is not shown", () => {
  expect(causeOf(["about it"], { repeatsSecrets: true })).toBe("HTTP status 400");
  const error = errorOfRequest(new Error("about the-digest"), TARGET, ["the-digest"]);
  expect(String(Reflect.get(Object(error.cause), "message"))).not.toContain("the-digest");
});

test("an error of ours stays as it is", () => {
  const error = new SignerError("timeout", "late");
  expect(errorOfRequest(error, TARGET, [])).toBe(error);
});
