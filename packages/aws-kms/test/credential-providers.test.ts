import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError, SignerError } from "@signpost/core";
import { callOnce } from "../src/call.ts";
import { CredentialsError } from "../src/credential-errors.ts";
import type { CredentialProvider } from "../src/credential-source.ts";
import { withKnownSources } from "../src/known-sources.ts";
import { refuseInsecureRequests } from "../src/secure-requests.ts";

const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );
const named = (name: string): Error => Object.assign(new Error("made up"), { name });

describe("profile files", () => {
  /** Of each test, since it remembers across providers whether the last question failed. */
  let withFreshFiles: (typeof import("../src/profile-files.ts"))["withFreshFiles"];
  beforeEach(async () => {
    vi.resetModules();
    ({ withFreshFiles } = await import("../src/profile-files.ts"));
  });

  /** Asks once, and returns the outcome with what each question to the provider read afresh. */
  async function ask(
    answers: readonly (() => Promise<string>)[],
    options?: Record<string, unknown>,
  ): Promise<{ outcome: unknown; fresh: boolean[]; given: unknown[] }> {
    const fresh: boolean[] = [];
    const given: unknown[] = [];
    const provide = withFreshFiles((ignoresCache): CredentialProvider<string> => async (asked) => {
      given.push(asked);
      fresh.push(ignoresCache());
      return answers[fresh.length - 1]?.() ?? "too many";
    });
    const outcome = await provide(options).catch((error: unknown) => error);
    return { outcome, fresh, given };
  }
  const gives = async (): Promise<string> => "identity";
  const refused = named("InvalidClientTokenId");
  const none = named("CredentialsProviderError");
  const failsWith = (error: Error) => async (): Promise<never> => {
    throw error;
  };

  test("are not read again after a question that was answered", async () => {
    expect(await ask([gives])).toEqual({ outcome: "identity", fresh: [false], given: [undefined] });
    expect(await ask([gives])).toMatchObject({ fresh: [false] });
  });

  test("are read again after a question that failed, until one is answered", async () => {
    expect(await ask([failsWith(none)])).toMatchObject({ outcome: none, fresh: [false] });
    expect(await ask([failsWith(none)])).toMatchObject({ outcome: none, fresh: [true] });
    expect(await ask([gives])).toMatchObject({ fresh: [true] });
    expect(await ask([gives])).toMatchObject({ fresh: [false] });
  });

  test("are read again for newer credentials, and only for these", async () => {
    const newer = { forceRefresh: true };
    expect(await ask([gives], newer)).toEqual({ outcome: "identity", fresh: [true], given: [newer] });
    expect(await ask([gives], { forceRefresh: false })).toMatchObject({ fresh: [false] });
    expect(await ask([gives], {})).toMatchObject({ fresh: [false] });
  });

  test("are read again at once, and once, if STS refuses what they held", async () => {
    const options = { callerClientConfig: {} };
    expect(await ask([failsWith(refused), gives], options)).toEqual({
      outcome: "identity",
      fresh: [false, true],
      given: [options, options],
    });
    expect(await ask([failsWith(refused), failsWith(refused)])).toMatchObject({
      outcome: refused,
      fresh: [false, true],
    });
    // The last question has failed.
    expect(await ask([failsWith(refused)])).toMatchObject({ outcome: refused, fresh: [true] });
  });
});

describe("the source of a call's credentials", () => {
  const down = named("CredentialsProviderError");
  const key = { KeyId: "k" };
  const digest = {
    ...key,
    Message: new Uint8Array(32),
    MessageType: "DIGEST",
    SigningAlgorithm: "ECDSA_SHA_256",
  } as const;

  test("is told by both calls of the caller's client, and their input stays", async () => {
    const getPublicKey = vi.fn<() => Promise<object>>().mockRejectedValueOnce(down).mockResolvedValue(key);
    const sign = vi.fn<() => Promise<object>>().mockRejectedValueOnce(down).mockResolvedValue(key);
    const api = withKnownSources({ getPublicKey, sign });
    const options = { signal: new AbortController().signal };
    for (const call of [() => api.getPublicKey(key, options), () => api.sign(digest, options)]) {
      expect(await rejection(call())).toMatchObject({
        name: "CredentialsError",
        cause: down,
        row: { code: "access_denied" },
      });
      expect(await call()).toEqual(key);
    }
    expect(getPublicKey.mock.calls).toEqual([
      [key, options],
      [key, options],
    ]);
    expect(sign.mock.calls).toEqual([
      [digest, options],
      [digest, options],
    ]);
  });
});

describe("a request of the SDK", () => {
  const handlerWith = () => {
    const handle = vi.fn<(...given: unknown[]) => Promise<string>>(async () => "answer");
    const handler = { handle };
    refuseInsecureRequests(handler as never);
    return {
      send: (protocol: string, hostname: string, options?: object) => handler.handle({ protocol, hostname }, options),
      handle,
      handler,
    };
  };

  test.each([
    ["https:", "sts.amazonaws.com", true],
    ["http:", "127.0.0.1", true],
    ["http:", "localhost", true],
    ["https:", "127.0.0.1", true],
    ["http:", "sts.amazonaws.com", false],
    ["ftp:", "sts.amazonaws.com", false],
  ])("over %s to %s is sent: %s", async (protocol, hostname, isSent) => {
    const { send, handle, handler } = handlerWith();
    const options = { requestTimeout: 5 };
    const outcome = await send(protocol, hostname, options).catch((error: unknown) => error);
    expect(handle.mock.calls).toEqual(isSent ? [[{ protocol, hostname }, options]] : []);
    if (isSent) expect(outcome).toBe("answer");
    else {
      const message = `could not get credentials: expected https, or http on the loopback interface, or allowInsecureEndpoint: true, for ${hostname}`;
      expect(outcome).toMatchObject({ name: "CredentialsError", message, row: { code: "access_denied" } });
      expect(Reflect.get(Object(outcome), "cause")).toBeUndefined();
    }
    expect(isSent ? handle.mock.contexts : [handler]).toEqual([handler]);
  });
});

describe("one attempt of a call", () => {
  const TARGET = { key: "alias/op", region: "eu-west-1" };
  const attempt = (signal: AbortSignal, call: () => Promise<unknown>): Promise<unknown> =>
    callOnce("kms:Sign", TARGET, { signal, timeoutMs: 1000 }, call);
  const open = new AbortController().signal;

  test("has the answer of the call, even if its signal has aborted", async () => {
    expect(await attempt(open, async () => 7)).toBe(7);
    expect(await attempt(AbortSignal.abort(), async () => 7)).toBe(7);
  });

  test("that fails says which call it was", async () => {
    expect(await rejection(attempt(open, () => Promise.reject(named("DisabledException"))))).toMatchObject({
      code: "key_disabled",
      message: "kms:Sign of alias/op in eu-west-1 failed: the key is disabled (DisabledException)",
    });
    expect(
      await rejection(attempt(open, () => Promise.reject(new ConfigurationError("region", "expected a Region")))),
    ).toMatchObject({ name: "SignerError", code: "invalid_argument" });
    const row = { code: "throttled", text: "slow down" } as const;
    expect(await rejection(attempt(open, () => Promise.reject(new CredentialsError(row, undefined))))).toMatchObject({
      code: "throttled",
      message: "kms:Sign of alias/op in eu-west-1 failed: slow down",
    });
  });

  test("that fails after its signal says why that was", async () => {
    const late = new SignerError("timeout", "no answer in time");
    expect(await rejection(attempt(AbortSignal.abort(late), () => Promise.reject(named("x"))))).toBe(late);
    expect(await rejection(attempt(AbortSignal.abort(), () => Promise.reject(named("x"))))).toMatchObject({
      code: "aborted",
    });
  });
});

afterEach(() => void vi.restoreAllMocks());
