import { expect, test } from "vitest";
import { withoutToken } from "../src/hidden-token.ts";

const TOKEN = "opaque-token-of-an-emulator";
const HIDDEN = "the message of the client contains the token";

/** An error whose text is so many causes deep. */
const nested = (depth: number, text: unknown): unknown =>
  depth === 0 ? text : Object.assign(new Error("x"), { cause: nested(depth - 1, text) });

test("without a token, and without a trace of it, an error stays as it is", () => {
  const error = Object.assign(new Error("x"), { code: "ECONNRESET" });
  expect(withoutToken(error, undefined)).toBe(error);
  expect(withoutToken(error, TOKEN)).toBe(error);
  expect(withoutToken(undefined, TOKEN)).toBeUndefined();
});

test.each(["message", "stack", "name", "code", "syscall"])("the token in %s hides the error", (name) => {
  const error = Object.assign(new Error("x"), { [name]: `a ${TOKEN}` });
  expect(withoutToken(error, TOKEN)).toMatchObject({ message: HIDDEN });
});

test("the code of a hidden error stays unless it contains the token", () => {
  const hidden = (code: unknown): unknown => withoutToken(Object.assign(new Error(TOKEN), { code }), TOKEN);
  expect(hidden("ECONNRESET")).toMatchObject({ message: HIDDEN, code: "ECONNRESET" });
  expect(hidden(TOKEN)).not.toHaveProperty("code");
  expect(hidden(7)).not.toHaveProperty("code");
});

test.each([
  [new Error(TOKEN), 5, true],
  [new Error(TOKEN), 6, false],
  [TOKEN, 6, true],
  [TOKEN, 7, false],
])("%s in the cause number %i is found: %s", (text, depth, isFound) => {
  const error = nested(depth, text);
  const result = withoutToken(error, TOKEN);
  if (isFound) return expect(result).toMatchObject({ message: HIDDEN });
  return expect(result).toBe(error);
});
