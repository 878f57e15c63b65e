import { expect, test } from "vitest";
import { soleValue } from "../../src/http/sole-value.ts";

const DATE = "Thu, 18 Aug 2050 02:01:18 GMT";

test.each([
  ["max-age=60, max-age=60", "max-age=60"],
  ["max-age=60,max-age=60 ,\tmax-age=60", "max-age=60"],
  [`${DATE}, ${DATE}`, DATE],
  ['"a,b", "a,b"', '"a,b"'],
])("of %j, which was sent several times, one is left", (joined, value) => {
  expect(soleValue(joined)).toBe(value);
});

test.each(["max-age=60", "60, 30", DATE, '"a,b", "a, b"', "", ",", " , ", "60, 60, 30"])(
  "%j stays as it is",
  (value) => {
    expect(soleValue(value)).toBe(value);
  },
);

test("a field of 1000 characters is looked at, and a longer one is not", () => {
  const value = "a".repeat(499);
  expect(soleValue(`${value}, ${value}`)).toBe(value);
  expect(soleValue(`${value},  ${value}`)).toBe(`${value},  ${value}`);
});

test("white space in front of a value costs no time", () => {
  const value = `${" ".repeat(990)},x`;
  expect(soleValue(value)).toBe(value);
});
