import { describe, expect, test } from "vitest";
import { wholeMilliseconds } from "@signpost/core";

describe("a bound in milliseconds", () => {
  test.each([1, 5000, 2 ** 31 - 1])("may be %d", (value) => {
    expect(wholeMilliseconds("openDeadlineMs", value)).toBe(value);
  });

  test.each([0, -1, 0.5, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, "5000", undefined, null])(
    "is not %s: a timer would fire at once or never",
    (value) => {
      expect(() => wholeMilliseconds("openDeadlineMs", value)).toThrow(
        expect.objectContaining({
          name: "ConfigurationError",
          argument: "openDeadlineMs",
          message: "openDeadlineMs: expected a whole number from 1 to 2147483647",
        }),
      );
    },
  );
});
