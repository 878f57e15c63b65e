import { expect, test } from "vitest";
import { requireNames } from "../src/keygen/maker.ts";

const KNOWN = ["token", "object", "id"];

test.each([[[]], [["token"]], [["id", "token", "object"]]])("a URI may have the names %j", (names) => {
  expect(() => requireNames("path", names, KNOWN)).not.toThrow();
});

test.each([
  ["one that is not known", ["token", "secret-1234"]],
  ["one in other case", ["Token"]],
  ["one twice", ["token", "object", "token"]],
  ["one without letters", [""]],
])("a URI with %s is refused, and it is not repeated", (_what, names) => {
  expect(() => requireNames("path", names, KNOWN)).toThrow(
    expect.objectContaining({
      code: "keygen",
      message: "The path of the URI has a name that is not known, or one twice",
      hint: "The names are token, object, id",
    }),
  );
});
