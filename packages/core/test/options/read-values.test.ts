import { describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import {
  readCallback,
  readChoice,
  readFlag,
  readMilliseconds,
  readNumber,
  readSignal,
  readText,
  readWholeNumber,
} from "@signpost/core/adapter";
import { thrownBy } from "../support/key-fixtures.ts";

const NOT_NUMBERS = ["5000", undefined, null, true, Number.NaN, Number.POSITIVE_INFINITY, 10n, [5], {}];

describe("readMilliseconds", () => {
  test.each([1, 5000, 2 ** 31 - 1])("takes %d", (value) => {
    expect(readMilliseconds("openDeadlineMs", value)).toBe(value);
  });

  test.each([0, -1, 0.5, 2 ** 31, ...NOT_NUMBERS])("refuses %s: a timer would fire at once or never", (value) => {
    const error = thrownBy(() => readMilliseconds("openDeadlineMs", value));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({
      argument: "openDeadlineMs",
      message: expect.stringMatching(/^openDeadlineMs: expected a whole number from 1 to 2147483647, got /),
    });
  });
});

describe("readWholeNumber", () => {
  test.each([1, 64])("takes the bound %d", (value) => {
    expect(readWholeNumber("sessions", value, 1, 64)).toBe(value);
  });

  test.each([0, 65, 1.5, 2 ** 53, ...NOT_NUMBERS])("refuses %s", (value) => {
    expect(thrownBy(() => readWholeNumber("sessions", value, 1, 64))).toMatchObject({ argument: "sessions" });
  });
});

describe("readNumber", () => {
  test.each([0, 0.25, 24])("takes %d", (value) => {
    expect(readNumber("hours", value, 0, 24)).toBe(value);
  });

  test.each([-0.1, 24.1, ...NOT_NUMBERS])("refuses %s", (value) => {
    expect(thrownBy(() => readNumber("hours", value, 0, 24))).toMatchObject({ argument: "hours" });
  });
});

describe("readFlag", () => {
  test.each([
    [true, false, true],
    [false, true, false],
    [undefined, false, false],
    [undefined, true, true],
  ])("reads %s as it is, with the default %s: %s", (value, fallback, expected) => {
    expect(readFlag("cors", value, fallback)).toBe(expected);
  });

  test.each(["false", 0, 1, null, {}])("refuses %j, which is no boolean", (value) => {
    expect(thrownBy(() => readFlag("cors", value))).toMatchObject({ argument: "cors" });
  });
});

describe("readText, readChoice, readCallback and readSignal", () => {
  test("accept valid values", () => {
    const callback = (): void => {};
    expect(readText("token", "op")).toBe("op");
    expect(readChoice("transport", "rest", ["grpc", "rest"])).toBe("rest");
    expect(readCallback("onError", callback)).toBe(callback);
    expect(readCallback("onError", undefined)).toBeUndefined();
    const signal = AbortSignal.timeout(1000);
    expect(readSignal("signal", signal)).toBe(signal);
    expect(readSignal("signal", undefined)).toBeUndefined();
  });

  test.each([
    ["readText", () => readText("token", ""), "token: expected a non-empty string, got an empty string"],
    ["readText", () => readText("token", 7), "token: expected a non-empty string, got 7"],
    [
      "readChoice",
      () => readChoice("transport", "http3", ["grpc", "rest"]),
      'transport: expected "grpc" or "rest", got a string',
    ],
    [
      "readSignal",
      () => readSignal("signal", {} as never),
      "signal: expected an AbortSignal or undefined, got an object",
    ],
    ["readCallback", () => readCallback("onError", "log"), "onError: expected a function or undefined, got a string"],
  ])("%s refuses what does not, and never repeats a text", (_name, read, message) => {
    expect(thrownBy(read)).toMatchObject({ name: "ConfigurationError", message });
  });
});
