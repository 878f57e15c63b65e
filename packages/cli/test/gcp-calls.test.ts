import { describe, expect, test, vi } from "vitest";
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

  test("has a second more than its time-out, and its credentials a tenth of one after that", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const hanging = (): Promise<never> => new Promise(() => undefined);
    const { getIamPolicy } = boundedCalls(clientWith(hanging, { getRequestHeaders: hanging }), NEVER);
    let isOver = false;
    const call = getIamPolicy({}, { timeout: 500 })
      .catch((error: unknown) => error)
      .finally(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(1599);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await call).toMatchObject({ code: "timeout", message: "no answer within 1500 ms" });
    vi.useRealTimers();
  });

  test.each<[what: string, auth: object]>([
    ["that cannot be asked for them", {}],
    ["that has none", { getRequestHeaders: async () => ({}) }],
    ["that fails", { getRequestHeaders: () => Promise.reject(new Error("no credentials")) }],
    ["whose headers have another kind", { getRequestHeaders: async () => ({ Authorization: 7 }) }],
  ])("fails as the service says it, with credentials %s", async (_what, auth) => {
    const refuse = () => Promise.reject(Object.assign(new Error("denied"), { code: 7 }));
    const { testIamPermissions } = boundedCalls(clientWith(refuse, auth), NEVER);
    await expect(testIamPermissions({}, { timeout: 1000 })).rejects.toMatchObject({ code: 7, message: "denied" });
  });

  test("is that of its name, with its request and its options", async () => {
    const names = [
      "getCryptoKeyVersion",
      "getCryptoKey",
      "testIamPermissions",
      "getIamPolicy",
      "createCryptoKey",
      "createCryptoKeyVersion",
      "asymmetricSign",
    ] as const;
    const calls = Object.fromEntries(
      names.map((name) => [name, async (request: object, options: object) => [{ name, request, options }]]),
    );
    const close = vi.fn<() => Promise<void>>();
    const client = boundedCalls({ ...calls, close } as unknown as GcpSdkClient, NEVER);
    for (const name of names) {
      expect(await client[name]({ a: 1 }, { timeout: 5, retry: null })).toEqual([
        { name, request: { a: 1 }, options: { timeout: 5, retry: null } },
      ]);
    }
    await client.close();
    expect(close).toHaveBeenCalledOnce();
  });
});
