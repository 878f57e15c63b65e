import { describe, expect, test } from "vitest";
import { boundedCalls } from "../src/backends/gcp-calls.ts";
import type { GcpSdkClient } from "../src/backends/gcp-kms.ts";

const TOKEN = "opaque-token-0123456789abcdef";
const NEVER = new AbortController().signal;

function clientWith(call: () => Promise<never>, auth?: object): GcpSdkClient {
  return {
    auth,
    initialize: async () => undefined,
    getCryptoKeyVersion: call,
    getCryptoKey: call,
    testIamPermissions: call,
    getIamPolicy: call,
    createCryptoKey: call,
    createCryptoKeyVersion: call,
    asymmetricSign: call,
    close: async () => undefined,
  };
}

describe("a call of Google's client", () => {
  test("that does not end is given up after its time", async () => {
    const { createCryptoKey } = boundedCalls(
      clientWith(() => new Promise(() => undefined)),
      NEVER,
    );
    await expect(createCryptoKey({}, { timeout: 1 })).rejects.toMatchObject({ code: "timeout" });
  });

  test("that does not end is given up with the command", async () => {
    const { getCryptoKey } = boundedCalls(
      clientWith(() => new Promise(() => undefined)),
      AbortSignal.abort(),
    );
    await expect(getCryptoKey({}, { timeout: 60_000 })).rejects.toMatchObject({ code: "aborted" });
  });

  test.each([
    ["as Headers", new Headers({ authorization: `Bearer ${TOKEN}` })],
    ["as an object", { Authorization: `Bearer ${TOKEN}` }],
  ])("fails with its code, and without the access token that the service repeats, given %s", async (_how, headers) => {
    const refuse = () => Promise.reject(Object.assign(new Error(`no access for ${TOKEN}`), { code: 7 }));
    const { createCryptoKey } = boundedCalls(clientWith(refuse, { getRequestHeaders: async () => headers }), NEVER);
    await expect(createCryptoKey({}, { timeout: 1000 })).rejects.toMatchObject({ code: 7, message: "" });
  });

  test("fails with its message, if that repeats nothing", async () => {
    const exists = () => Promise.reject(Object.assign(new Error("6 ALREADY_EXISTS: there"), { code: 6 }));
    const { createCryptoKey } = boundedCalls(clientWith(exists), NEVER);
    await expect(createCryptoKey({}, { timeout: 1000 })).rejects.toMatchObject({
      code: 6,
      message: "6 ALREADY_EXISTS: there",
    });
  });
});
