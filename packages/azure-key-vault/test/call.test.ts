import { describe, expect, test } from "vitest";
import { ConfigurationError, SignerError } from "@signpost/core";
import { callOnce } from "../src/call.ts";
import { describeCall, signerErrorFrom } from "../src/errors.ts";
import { parseVault } from "../src/vault.ts";

const CALL = "sign with op";
const { signal } = new AbortController();
const bounds = { signal, timeoutMs: 1000 };
const ID = "01234567-89ab-cdef-0123-456789abcdef";

const messageOf = (error: unknown): unknown => Reflect.get(Object(error), "message");

test("a call is described with its vault", () => {
  expect(describeCall(CALL, parseVault("vault", "op.vault.azure.net"))).toBe(
    "sign with op at https://op.vault.azure.net",
  );
});

describe("one attempt of a call", () => {
  test("gives what the call gives", async () => {
    expect(await callOnce(CALL, bounds, async () => "answer")).toBe("answer");
  });

  test("that its signal ended says why, whatever the client says", async () => {
    const reason = new Error("gone");
    const fails = (): Promise<never> => Promise.reject(new SignerError("unavailable", "cut"));
    const ended = callOnce(CALL, { ...bounds, signal: AbortSignal.abort(reason) }, fails);
    await expect(ended).rejects.toMatchObject({ code: "aborted", cause: reason });
    await expect(callOnce(CALL, bounds, fails)).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("the error for a call that failed", () => {
  test("keeps what an error of ours says, and names the call once", () => {
    const cause = new Error("x");
    const error = new SignerError("integrity", "the answer was cut off", { cause, transient: true });
    expect(signerErrorFrom(error, CALL)).toMatchObject({
      code: "integrity",
      message: "cannot sign with op: the answer was cut off",
      cause,
      transient: true,
    });
    const named = new SignerError("wrong_key", "sign with op: another key answered");
    expect(signerErrorFrom(named, CALL)).toMatchObject({ code: "wrong_key", message: named.message });
    expect(signerErrorFrom(named, CALL).cause).toBeUndefined();
  });

  test("is of the caller for options that are wrong", () => {
    const error = new ConfigurationError("tls.caFile", "expected a file");
    expect(signerErrorFrom(error, CALL)).toMatchObject({
      code: "invalid_argument",
      message: `cannot sign with op: ${error.message}`,
      cause: error,
    });
  });

  test.each([
    [{ statusCode: 503 }, "HTTP status 503"],
    [{ statusCode: 503, requestId: ID }, `HTTP status 503, x-ms-request-id ${ID}`],
    [{ statusCode: 503, requestId: "a tenant" }, "HTTP status 503"],
  ])("of the service with %j has the cause %j, without its message", (members, message) => {
    const error = Object.assign(new Error("a tenant", { cause: new Error("a caller") }), members);
    const { code, cause } = signerErrorFrom(error, CALL);
    expect([code, messageOf(cause)]).toEqual(["unavailable", message]);
    expect(String(messageOf(Reflect.get(Object(cause), "cause")))).not.toContain("a caller");
  });

  test.each([
    ["connect ECONNRESET", true],
    ["about eyJhbGciOi", false],
    ["about keyJ", true],
    ["Bearer x", false],
    ["Bearers of x", true],
    ["the Authorization of x", false],
  ])("of the client with %j shows it: %s", (message, isShown) => {
    const { cause } = signerErrorFrom(Object.assign(new Error(message), { code: "ECONNRESET", syscall: "read" }), CALL);
    expect(cause).toMatchObject({ code: "ECONNRESET", syscall: "read" });
    expect(String(messageOf(cause)).includes(message)).toBe(isShown);
  });
});
