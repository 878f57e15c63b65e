import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { SignerError, type GuardedSigner } from "@signpost/core";
import { openAzureKeyVaultSigner, type AzureKeyVaultSignerOptions } from "@signpost/azure-key-vault";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, startVaultFixture, STEADY } from "./support/vault-fixture.ts";

const { fake, options, open } = await startVaultFixture();
const { entra } = fake;

describe("a token", () => {
  test("serves all calls until two minutes before it ends", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const signer = await open();
    await signer.sign(DIGEST);
    vi.setSystemTime(Date.now() + 3_479_000);
    await signer.sign(DIGEST);
    expect(entra.issued).toHaveLength(1);
    vi.setSystemTime(Date.now() + 1001);
    await signer.sign(DIGEST);
    expect(entra.issued).toHaveLength(2);
  });

  test("is asked for once by calls that need one together", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const signer = await open();
    vi.setSystemTime(Date.now() + 3_500_000);
    await Promise.all(Array.from({ length: 20 }, () => signer.sign(DIGEST)));
    expect(entra.issued).toHaveLength(2);
  });

  test("that is revoked is replaced, once for calls that fail together", async () => {
    const signer = await open();
    entra.revokeAll();
    await Promise.all(Array.from({ length: 20 }, () => signer.sign(DIGEST)));
    expect(entra.issued).toHaveLength(2);
  });

  test("that the vault refuses again is not sent a third time, and the credential is left alone for a while", async () => {
    const signer = await open();
    fake.resource = "https://vault.azure.cn";
    const before = fake.requests.length;
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toMatchObject({ code: "access_denied", transient: false });
    expect(fake.requests.length - before).toBe(2);
    const { length } = entra.issued;
    await rejection(signer.sign(DIGEST));
    await rejection(signer.sign(DIGEST));
    expect(entra.issued.length - length).toBeLessThanOrEqual(1);
    fake.resource = undefined;
    expect(await signsTruly(signer)).toBe(true);
  });

  test("that was accepted and is revoked soon after it replaced another one, is replaced too", async () => {
    const signer = await open();
    for (let revoked = 0; revoked < 4; revoked += 1) {
      entra.revokeAll();
      expect(await signsTruly(signer)).toBe(true);
    }
  });

  test("is still used while the credential fails, until it ends", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const signer = await open();
    vi.spyOn(entra.credential, "getToken").mockRejectedValue(Object.assign(new Error(""), { code: "ECONNREFUSED" }));
    vi.setSystemTime(Date.now() + 3_500_000);
    expect(await signsTruly(signer)).toBe(true);
    vi.setSystemTime(Date.now() + 101_000);
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "unavailable", transient: true });
  });

  test("from a function may be a text, which is used until it is refused", async () => {
    const given: string[] = [];
    const credential = (scope: string): string => {
      given.push(entra.issue(scope).token);
      return given.at(-1) ?? "";
    };
    const signer = await open({ credential });
    await signer.sign(DIGEST);
    expect(given).toHaveLength(1);
    entra.revokeAll();
    expect(await signsTruly(signer)).toBe(true);
    expect(given).toHaveLength(2);
  });

  test("that lives for less than two minutes is renewed every few seconds, not for each call", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const credential: AzureKeyVaultSignerOptions["credential"] = (scope, { enableCae }) => {
      expect(enableCae).toBe(true);
      return { token: entra.issue(scope).token, expiresOnTimestamp: Date.now() + 60_000 };
    };
    const signer = await open({ credential });
    await signer.sign(DIGEST);
    await signer.sign(DIGEST);
    expect(entra.issued).toHaveLength(1);
    vi.setSystemTime(Date.now() + 5001);
    await signer.sign(DIGEST);
    await signer.sign(DIGEST);
    expect(entra.issued).toHaveLength(2);
  });

  test("that has ended by the clock of a machine that is fast is used, and not asked for by each call", async () => {
    const credential: AzureKeyVaultSignerOptions["credential"] = (scope) => ({
      token: entra.issue(scope).token,
      expiresOnTimestamp: Date.now() - 60_000,
    });
    const signer = await open({ credential });
    for (let count = 0; count < 5; count += 1) expect(await signsTruly(signer)).toBe(true);
    expect(entra.issued).toHaveLength(1);
  });

  test("is used while the credential hangs, until it ends", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const signer = await open();
    const getToken = vi.spyOn(entra.credential, "getToken").mockReturnValue(new Promise(() => {}));
    vi.setSystemTime(Date.now() + 3_500_000);
    expect(await signsTruly(signer)).toBe(true);
    expect(await signsTruly(signer)).toBe(true);
    expect(getToken).toHaveBeenCalledTimes(1);
  });

  test("is replaced from the time on that its credential names", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const credential: AzureKeyVaultSignerOptions["credential"] = (scope) => ({
      token: entra.issue(scope).token,
      expiresOnTimestamp: Date.now() + 86_400_000,
      refreshAfterTimestamp: Date.now() + 43_200_000,
    });
    const signer = await open({ credential });
    vi.setSystemTime(Date.now() + 43_100_000);
    await signer.sign(DIGEST);
    expect(entra.issued).toHaveLength(1);
    vi.setSystemTime(Date.now() + 100_000);
    await signer.sign(DIGEST);
    expect(entra.issued).toHaveLength(2);
  });

  test("that cannot be replaced is in the health of the signer, until it is replaced", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const signer = await open({ policy: STEADY });
    if (!("health" in signer)) throw new Error("expected a guarded signer");
    const { health } = signer as GuardedSigner;
    const getToken = vi.spyOn(entra.credential, "getToken");
    getToken.mockRejectedValue(Object.assign(new Error("secret"), { code: "ECONNREFUSED" }));
    vi.setSystemTime(Date.now() + 3_500_000);
    await signer.sign(DIGEST);
    const since = new Date().toISOString();
    expect(health()).toMatchObject({
      status: "degraded",
      notes: [`the token cannot be replaced since ${since} (unavailable); calls fail when it ends`],
    });
    getToken.mockRestore();
    vi.setSystemTime(Date.now() + 5001);
    await signer.sign(DIGEST);
    expect(health()).toMatchObject({ status: "ready", notes: [] });
  });

  test("that is being renewed when the signer closes is not waited for, and the credential is told", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const signer = await open();
    const signals: (AbortSignal | undefined)[] = [];
    vi.spyOn(entra.credential, "getToken").mockImplementation((_scopes, { abortSignal } = {}) => {
      signals.push(abortSignal);
      return new Promise(() => {});
    });
    vi.setSystemTime(Date.now() + 3_500_000);
    await signer.sign(DIGEST);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    await signer.close();
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  test("that cannot be renewed is not asked for by each call", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const signer = await open();
    const getToken = vi.spyOn(entra.credential, "getToken");
    getToken.mockRejectedValue(Object.assign(new Error(""), { code: "ECONNREFUSED" }));
    vi.setSystemTime(Date.now() + 3_500_000);
    for (let count = 0; count < 5; count += 1) expect(await signsTruly(signer)).toBe(true);
    expect(getToken).toHaveBeenCalledTimes(1);
  });
});

describe("a credential that gives no token", () => {
  const SECRET = "client-secret-and-tenant";
  const failure = (name: string, members: object = {}): Error => Object.assign(new Error(SECRET), { name }, members);
  test.each<[what: string, credential: unknown, code: string, transient: boolean]>([
    [
      "AuthenticationError 401",
      () => Promise.reject(failure("AuthenticationError", { statusCode: 401 })),
      "access_denied",
      false,
    ],
    [
      "AuthenticationError 503",
      () => Promise.reject(failure("AuthenticationError", { statusCode: 503 })),
      "unavailable",
      true,
    ],
    [
      "AuthenticationError 429",
      () => Promise.reject(failure("AuthenticationError", { statusCode: 429 })),
      "throttled",
      true,
    ],
    ["CredentialUnavailableError", () => Promise.reject(failure("CredentialUnavailableError")), "access_denied", false],
    [
      "CredentialUnavailableError because of the network",
      () =>
        Promise.reject(failure("CredentialUnavailableError", { cause: failure("Error", { code: "EHOSTUNREACH" }) })),
      "unavailable",
      true,
    ],
    [
      "a chain of credentials",
      () =>
        Promise.reject(failure("AggregateAuthenticationError", { errors: [failure("CredentialUnavailableError")] })),
      "access_denied",
      false,
    ],
    [
      // As @azure/identity 4.13 reports it: the reason is only in a message.
      "a managed identity that cannot be reached",
      () => Promise.reject(failure("CredentialUnavailableError", { message: `Network: network_error: See ${SECRET}` })),
      "unavailable",
      true,
    ],
    [
      "a managed identity that answers 503",
      () => Promise.reject(failure("CredentialUnavailableError", { cause: failure("ServerError", { status: 503 }) })),
      "unavailable",
      true,
    ],
    [
      "a managed identity that limits the rate",
      () => Promise.reject(failure("CredentialUnavailableError", { cause: failure("ServerError", { status: 429 }) })),
      "throttled",
      true,
    ],
    [
      "a managed identity that does not exist",
      () => Promise.reject(failure("CredentialUnavailableError", { cause: failure("ServerError", { status: 400 }) })),
      "access_denied",
      false,
    ],
    [
      "an identity provider whose endpoints cannot be read",
      () =>
        Promise.reject(failure("CredentialUnavailableError", { message: `endpoints_resolution_error: See ${SECRET}` })),
      "unavailable",
      true,
    ],
    [
      "an identity provider that is unavailable for a moment",
      () =>
        Promise.reject(
          failure("AuthenticationRequiredError", { message: `temporarily_unavailable: Error(s): ${SECRET}` }),
        ),
      "unavailable",
      true,
    ],
    [
      "a wrong client secret",
      () => Promise.reject(failure("AuthenticationRequiredError", { message: `invalid_client: Error(s): ${SECRET}` })),
      "access_denied",
      false,
    ],
    [
      "a file that is missing",
      () => Promise.reject(failure("Error", { message: `ENOENT: no such file or directory, open '${SECRET}'` })),
      "access_denied",
      false,
    ],
    [
      "a chain, one of which was refused and one of which is down",
      () =>
        Promise.reject(
          failure("AggregateAuthenticationError", {
            errors: [failure("ServerError", { status: 400 }), failure("ServerError", { status: 500 })],
          }),
        ),
      "unavailable",
      true,
    ],
    ["AbortError", () => Promise.reject(failure("AbortError")), "timeout", true],
    [
      "an error of the caller's function",
      () => {
        throw failure("Error");
      },
      "unavailable",
      true,
    ],
    ["null", () => null, "access_denied", false],
    ["an empty text", () => "", "access_denied", false],
    ["a text that fits no header", () => `${SECRET}\n`, "access_denied", false],
    ["no end", () => ({ token: SECRET }), "access_denied", false],
    ["an object without a token", () => ({ expiresOnTimestamp: 1 }), "access_denied", false],
  ])("but %s is reported without a secret", async (_what, credential, code, transient) => {
    const error = await rejection(
      openAzureKeyVaultSigner({
        ...options,
        credential: credential as NonNullable<AzureKeyVaultSignerOptions["credential"]>,
        policy: { maxAttempts: 1 },
      }),
    );
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code, transient });
    expect(String(error)).toContain("cannot read op at https://op.vault.azure.net: the credential ");
    expect(inspect(error, { depth: 10 })).not.toContain(SECRET);
    expect(fake.requests).toHaveLength(0);
  });

  test("says the number of the reason, and nothing else of the message", async () => {
    const message = `invalid_client: ${SECRET} AADSTS7000222: the keys of ${SECRET} have ended`;
    const credential = (): Promise<never> => Promise.reject(failure("AuthenticationRequiredError", { message }));
    const error = await rejection(openAzureKeyVaultSigner({ ...options, credential }));
    expect(String(error)).toContain("are refused (AuthenticationRequiredError, AADSTS7000222)");
    expect(inspect(error, { depth: 10 })).not.toContain(SECRET);
  });

  test("is not asked again for each call, and then works again", async () => {
    const signer = await open();
    entra.revokeAll();
    const getToken = vi.spyOn(entra.credential, "getToken");
    getToken.mockRejectedValue(failure("AuthenticationError", { statusCode: 400 }));
    for (let count = 0; count < 3; count += 1) {
      expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "access_denied" });
    }
    expect(getToken).toHaveBeenCalledTimes(1);
    getToken.mockRestore();
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 5001);
    expect(await signer.sign(DIGEST)).toHaveLength(64);
  });

  test("and never settles, ends with the call, and gets an abort signal", async () => {
    const signals: AbortSignal[] = [];
    const credential: AzureKeyVaultSignerOptions["credential"] = (_scope, { abortSignal }) => {
      signals.push(abortSignal);
      return new Promise(() => {});
    };
    const policy = { attemptTimeoutMs: 300, maxAttempts: 1 };
    const error = await rejection(open({ credential, policy }));
    expect(error).toMatchObject({ code: "timeout", transient: true });
    expect(String(error)).toContain("the credential has given no token within 270 ms");
    expect(signals).toHaveLength(1);
  });
});
