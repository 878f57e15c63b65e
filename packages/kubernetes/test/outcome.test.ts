import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { ConfigurationError, SignerError, SignpostError } from "@signpost/core";
import { KubernetesRequestError } from "../src/errors.ts";
import { isMissing } from "../src/missing-package.ts";
import { failureOf } from "../src/program/failure.ts";
import { outcomeOf } from "../src/service/outcome.ts";

// What is said of an error: to kube-apiserver, and to the operator.

describe("kube-apiserver gets the code of an error, with the status", () => {
  test.each([
    ["invalid_request", status.INVALID_ARGUMENT],
    ["invalid_claims", status.INVALID_ARGUMENT],
    ["wrong_issuer", status.INVALID_ARGUMENT],
    ["lifetime_too_long", status.INVALID_ARGUMENT],
    ["lifetime_invalid", status.INVALID_ARGUMENT],
    ["aborted", status.CANCELLED],
    ["timeout", status.DEADLINE_EXCEEDED],
    ["throttled", status.RESOURCE_EXHAUSTED],
    ["overloaded", status.RESOURCE_EXHAUSTED],
    ["unavailable", status.UNAVAILABLE],
    ["closed", status.UNAVAILABLE],
    ["audit_failed", status.UNAVAILABLE],
    ["access_denied", status.FAILED_PRECONDITION],
    ["key_not_found", status.FAILED_PRECONDITION],
    ["key_disabled", status.FAILED_PRECONDITION],
    ["wrong_key", status.FAILED_PRECONDITION],
    ["pin_incorrect", status.FAILED_PRECONDITION],
    ["pin_locked", status.FAILED_PRECONDITION],
    ["integrity", status.INTERNAL],
    ["a code that is not known", status.INTERNAL],
  ])("%s: %d", (code, expected) => {
    expect(outcomeOf(new SignpostError(code, "a message"))).toEqual({ code, status: expected });
  });

  test.each([new TypeError("a"), "a", undefined, null])("internal for %s, which is none of ours", (error) => {
    expect(outcomeOf(error)).toEqual({ code: "internal", status: status.INTERNAL });
  });
});

describe("the operator gets", () => {
  test.each([
    ["the code and the message", new ConfigurationError("issuer", "expected a URL"), 2, "issuer: expected a URL"],
    ["those of a signer", new SignerError("unavailable", "away"), 3, "away"],
    ["the URI of the key", new SignerError("timeout", "late", { uri: "local:a" }), 3, "late (local:a)"],
  ])("%s", (_what, error, exitCode, message) => {
    expect(failureOf(error)).toEqual({ exitCode, code: error.code, message });
  });

  test.each([
    [new TypeError("with a secret"), "unexpected TypeError"],
    ["a secret", "unexpected string"],
    [undefined, "unexpected undefined"],
  ])("of %s its kind alone", (error, message) => {
    expect(failureOf(error)).toEqual({ exitCode: 3, code: "internal", message });
  });

  test.each([
    ["give the option pin, the option pin", "give adapters.pkcs11.pin, adapters.pkcs11.pin"],
    ["the function of the option pin failed", "adapters.pkcs11.pin failed"],
    ["the function of the option pinSource failed", "pin-source in the URI of the key failed"],
    ["the option pinning", "the option pinning"],
    ["call forgetRefusedPins()", "restart this signer"],
    ["call forgetRefusedPins() or restart this process", "restart this signer"],
    ["call forgetRefusedPins(), which allows it", "restart this signer"],
  ])("in place of %j its own words", (theirs, ours) => {
    expect(failureOf(new SignerError("pin_incorrect", theirs)).message).toBe(ours);
  });
});

test("a refusal of a request has its class, its code and its cause", () => {
  const cause = new TypeError("a");
  const error = new KubernetesRequestError("wrong_issuer", "iss: expected another", { cause });
  expect(error).toMatchObject({ name: "KubernetesRequestError", code: "wrong_issuer", cause });
  expect(error).toBeInstanceOf(SignpostError);
});

describe("a package is missing", () => {
  const failed = (code: string, message: string): Error => Object.assign(new Error(message), { code });

  test.each([
    [failed("ERR_MODULE_NOT_FOUND", "Cannot find package 'a' imported from b"), true],
    [failed("ERR_MODULE_NOT_FOUND", "Cannot find package 'ab' imported from 'b'"), false],
    [failed("MODULE_NOT_FOUND", "Cannot find module 'a'\nRequire stack:\n- /bundle.cjs"), true],
    [failed("MODULE_NOT_FOUND", "Cannot find module 'b'\nRequire stack:\n- 'a'"), false],
    [failed("ERR_REQUIRE_ESM", "Cannot find package 'a'"), false],
    [undefined, false],
    [{ code: "ERR_MODULE_NOT_FOUND" }, false],
  ])("%s: %s", (error, expected) => {
    expect(isMissing(error, "a")).toBe(expected);
  });
});
