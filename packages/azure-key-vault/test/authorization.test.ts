import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { createAuthorization, type Authorization } from "../src/authorization.ts";
import type { AskForToken } from "../src/credential.ts";
import { parseVault } from "../src/vault.ts";

// Which token each challenge leads to, without requests.

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const { signal } = new AbortController();
const SCOPE = "https://vault.azure.net/.default";

/** Tokens that name what they are for, and that have no end. */
const credential = vi.fn<AskForToken>();
beforeEach(() => {
  credential.mockReset();
  credential.mockImplementation(async ({ scope, tenantId, claims }) => ({
    token: JSON.stringify([scope, tenantId, claims, credential.mock.calls.length]),
    lifeMs: Infinity,
    renewAfterMs: Infinity,
  }));
});

const created = (host = "op.vault.azure.net", scope?: string): Authorization =>
  createAuthorization(parseVault("vault", host), scope, credential, 1000);

/** The answer of a new call to a challenge that names a tenant. */
const forTenant = (authorization: Authorization, tenantId: string | undefined): Promise<string | undefined> =>
  authorization.begin().answer({ scope: undefined, tenantId, claims: undefined }, "refused", signal);

/** The tenants that a token was asked for, in order. */
const tenants = (): readonly (string | undefined)[] => credential.mock.calls.map(([{ tenantId }]) => tenantId);

test("before a challenge has named the scope there is no token, none to accept and no trouble", async () => {
  const authorization = created("op.vault.example");
  expect(await authorization.token(signal)).toBeUndefined();
  expect(() => authorization.accepted("token")).not.toThrow();
  expect(authorization.trouble()).toBeUndefined();
  expect(credential).not.toHaveBeenCalled();
});

test("a credential that fails is said", async () => {
  const authorization = created();
  credential.mockRejectedValueOnce(new SignerError("unavailable", "down"));
  await expect(authorization.token(signal)).rejects.toMatchObject({ code: "unavailable" });
  expect(authorization.trouble()).toMatch(/^the token cannot be replaced/);
});

describe("the tenants that challenges name", () => {
  test("are four at most, unless the last one is older than 5 s", async () => {
    const authorization = created();
    await authorization.token(signal);
    for (const tenant of ["a", "b", "c"]) expect(await forTenant(authorization, tenant)).toContain(tenant);
    expect(await forTenant(authorization, "d")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(4999);
    expect(await forTenant(authorization, "d")).toBeUndefined();
    expect(tenants()).toEqual([undefined, "a", "b", "c"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await forTenant(authorization, "d")).toContain('"d"');
    expect(await forTenant(authorization, "e")).toBeUndefined();
    expect(tenants()).toEqual([undefined, "a", "b", "c", "d"]);
  });

  test("are forgotten in order, without their tokens, but not the one in use", async () => {
    const authorization = created();
    for (const tenant of ["a", "b", "c"]) await forTenant(authorization, tenant);
    await vi.advanceTimersByTimeAsync(5000);
    // In place of the target without a tenant.
    await forTenant(authorization, "d");
    await forTenant(authorization, "a");
    await vi.advanceTimersByTimeAsync(5000);
    // In place of b, since a is in use.
    await forTenant(authorization, "e");
    expect(tenants()).toEqual(["a", "b", "c", "d", "e"]);
    for (const tenant of ["a", "c", "d", "e"]) await forTenant(authorization, tenant);
    expect(tenants()).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(5000);
    await forTenant(authorization, "b");
    expect(tenants()).toEqual(["a", "b", "c", "d", "e", "b"]);
  });

  test("stay for later calls, also if a challenge names none", async () => {
    const authorization = created();
    const token = await forTenant(authorization, "a");
    expect(await authorization.token(signal)).toBe(token);
    const challenge = { scope: undefined, tenantId: undefined, claims: undefined };
    expect(await authorization.begin().answer(challenge, token, signal)).toBe(
      JSON.stringify([SCOPE, "a", undefined, 2]),
    );
    expect(tenants()).toEqual(["a", "a"]);
  });

  test("change nothing while there is no token for them", async () => {
    const authorization = created();
    const token = await authorization.token(signal);
    credential.mockRejectedValueOnce(new SignerError("access_denied", "no such tenant"));
    await expect(forTenant(authorization, "a")).rejects.toMatchObject({ code: "access_denied" });
    expect(await authorization.token(signal)).toBe(token);
  });

  test("of a credential that knows only one give no other token", async () => {
    credential.mockResolvedValue({ token: "refused", lifeMs: Infinity, renewAfterMs: Infinity });
    expect(await forTenant(created(), "a")).toBeUndefined();
  });
});

describe("one call answers each kind of challenge once", () => {
  const plain = { scope: undefined, tenantId: undefined, claims: undefined };

  test("that for what the token lacks next to a refusal", async () => {
    const authorization = created();
    const first = await authorization.token(signal);
    const { answer } = authorization.begin();
    const second = await answer(plain, first, signal);
    expect(second).toBe(JSON.stringify([SCOPE, undefined, undefined, 2]));
    expect(await answer(plain, second, signal)).toBeUndefined();
    const third = await answer({ ...plain, claims: "{}" }, second, signal);
    expect(third).toBe(JSON.stringify([SCOPE, undefined, "{}", 3]));
    expect(await answer({ ...plain, claims: "[]" }, third, signal)).toBeUndefined();
    expect(credential).toHaveBeenCalledTimes(3);
  });

  test("that before a token", async () => {
    const authorization = created("op.vault.example");
    const { answer } = authorization.begin();
    expect(await answer(plain, undefined, signal)).toBeUndefined();
    const named = { ...plain, scope: "https://vault.example/.default" };
    expect(await answer(named, undefined, signal)).toContain("vault.example");
    expect(await answer(named, undefined, signal)).toBeUndefined();
  });

  test("and none without a challenge that is understood, before the scope is known", async () => {
    expect(await created("op.vault.example").begin().answer(undefined, undefined, signal)).toBeUndefined();
  });
});

test("the claims of another tenant are for a token of that tenant", async () => {
  const authorization = created();
  const first = await authorization.token(signal);
  const challenge = { scope: undefined, tenantId: "a", claims: "{}" };
  expect(await authorization.begin().answer(challenge, first, signal)).toBe(JSON.stringify([SCOPE, "a", "{}", 2]));
});
