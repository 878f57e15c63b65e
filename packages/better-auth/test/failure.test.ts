import { APIError } from "better-auth/api";
import { describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { hostFailure } from "../src/failure.ts";

const NOT_STORED = { "Cache-Control": "no-store", Pragma: "no-cache" };

describe("the host's error for a token that could not be signed", () => {
  test.each([
    [
      "transient",
      new SignerError("unavailable", "away"),
      {
        status: "SERVICE_UNAVAILABLE",
        headers: { ...NOT_STORED, "Retry-After": "2" },
        body: {
          code: "SIGNING_UNAVAILABLE",
          message: "the signing key is currently unavailable",
          error: "temporarily_unavailable",
          error_description: "the signing key is currently unavailable",
        },
      },
    ],
    [
      "final",
      new SignerError("access_denied", "no permission"),
      {
        status: "INTERNAL_SERVER_ERROR",
        headers: NOT_STORED,
        body: {
          code: "SIGNING_FAILED",
          message: "the token could not be signed",
          error: "server_error",
          error_description: "the token could not be signed",
        },
      },
    ],
    ["no error of a signer", new TypeError("transient"), { status: "INTERNAL_SERVER_ERROR", headers: NOT_STORED }],
  ])(
    "that is %s has the status, the members and the headers of RFC 6749, and is stored nowhere",
    (_, cause, expected) => {
      const error = hostFailure(cause, APIError);
      expect(error).toBeInstanceOf(APIError);
      expect(error).toMatchObject(expected);
      expect(Object.keys((error as unknown as { headers: object }).headers).toSorted()).toEqual(
        Object.keys(expected.headers).toSorted(),
      );
    },
  );

  test("has its cause as every Error has one: not enumerable, and others may replace it", () => {
    const cause = new SignerError("timeout", "no answer");
    expect(Object.getOwnPropertyDescriptor(hostFailure(cause, APIError), "cause")).toEqual({
      value: cause,
      writable: true,
      configurable: true,
      enumerable: false,
    });
  });
});
