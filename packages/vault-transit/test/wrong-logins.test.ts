import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTokenCalls } from "../src/token-calls.ts";
import { countedLogins } from "../src/wrong-logins.ts";
import type { HttpAnswer } from "../src/exchange.ts";
import { rejection } from "./support/signatures.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

const answer = (status: number, ...errors: string[]): HttpAnswer => ({
  status,
  json: undefined,
  errors,
  hasErrors: errors.length > 0,
  repeatsSecrets: false,
  retryAfter: undefined,
});

/** What a login rejects with if the server gives this answer. */
async function refusal(given: HttpAnswer): Promise<unknown> {
  const send = async (): Promise<HttpAnswer> => given;
  const calls = createTokenCalls({ address: "a", namespace: undefined, send, close: async () => {} }, 2000);
  return rejection(calls.logIn({ path: "auth/approle/login", body: {}, secrets: [], namespace: undefined }));
}
const wrong = await refusal(answer(400, "invalid role or secret ID"));

let roles = 0;
/** A role that no other test has used, and how many of its logins were sent. */
function newRole(): {
  readonly fails: (secret: string, error?: unknown) => Promise<unknown>;
  readonly succeeds: (secret: string) => Promise<string>;
  readonly sent: () => number;
} {
  const logIn = countedLogins("log in", `role-${(roles += 1)}`);
  let sent = 0;
  const send = (outcome: () => Promise<string>) => (): Promise<string> => ((sent += 1), outcome());
  return {
    fails: (secret, error = wrong) =>
      rejection(
        logIn(
          secret,
          send(() => Promise.reject(error)),
        ),
      ),
    succeeds: (secret) =>
      logIn(
        secret,
        send(async () => "lease"),
      ),
    sent: () => sent,
  };
}

describe("a secret id that the server refused", () => {
  test("is not sent again for 15 minutes", async () => {
    const role = newRole();
    expect(await role.fails("one")).toBe(wrong);
    vi.advanceTimersByTime(899_999);
    expect(await role.fails("one")).toMatchObject({
      code: "access_denied",
      message: expect.stringMatching(
        /^cannot log in: the server refused this secret id before, .* Servers lock a role/,
      ) as string,
    });
    expect(role.sent()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await role.succeeds("one")).toBe("lease");
  });

  test("does not keep another one from being sent, up to four", async () => {
    const role = newRole();
    for (const secret of ["one", "two", "three", "four"]) expect(await role.fails(secret)).toBe(wrong);
    expect(await role.fails("five")).toMatchObject({
      message: expect.stringContaining(
        "the server refused 4 logins of this role, so no other secret id was sent",
      ) as string,
    });
    expect(role.sent()).toBe(4);
    expect(await newRole().succeeds("one")).toBe("lease");
  });

  test("no longer counts once another one was right", async () => {
    const role = newRole();
    for (const secret of ["one", "two", "three"]) await role.fails(secret);
    await role.succeeds("four");
    for (const secret of ["one", "two", "three", "four"]) expect(await role.fails(secret)).toBe(wrong);
  });

  test.each([
    ["denied permission", answer(403, "permission denied")],
    ["was something in front of the server", answer(400)],
    ["was down", answer(503, "sealed")],
  ])("is one only if the method refused it, and nothing %s", async (_what, given) => {
    const role = newRole();
    const error = await refusal(given);
    for (let count = 0; count < 6; count += 1) expect(await role.fails("one", error)).toBe(error);
    expect(role.sent()).toBe(6);
  });
});

test("logins of one role are sent one after the other, and of two roles at the same time", async () => {
  const order: string[] = [];
  const end: (() => void)[] = [];
  const [one, other] = [countedLogins("log in", "slow"), countedLogins("log in", "fast")];
  const login = (name: string) => (): Promise<string> => {
    order.push(name);
    return new Promise((resolve) => end.push(() => resolve(name)));
  };
  const logins = [one("a", login("first")), one("b", login("second")), other("a", login("other"))];
  await vi.advanceTimersByTimeAsync(0);
  expect(order).toEqual(["first", "other"]);
  for (const release of end.splice(0)) release();
  await vi.advanceTimersByTimeAsync(0);
  expect(order).toEqual(["first", "other", "second"]);
  for (const release of end) release();
  expect(await Promise.all(logins)).toEqual(["first", "second", "other"]);
});

test("256 roles are remembered, and the oldest is forgotten for another one", async () => {
  const first = newRole();
  await first.fails("one");
  for (let count = 0; count < 255; count += 1) newRole();
  // A role is known from its first login on.
  for (let count = 0; count < 255; count += 1) await newRole().succeeds("x");
  expect(await first.fails("one")).toMatchObject({ code: "access_denied" });
  await newRole().succeeds("x");
  expect(await first.succeeds("one")).toBe("lease");
});

test.each([
  [199, false],
  [200, true],
  [299, true],
  [300, false],
])("an answer about a token with status %i counts: %s", async (status, counts) => {
  const json = { auth: { client_token: "token", lease_duration: 60, renewable: true }, data: { ttl: 60 } };
  const send = async (): Promise<HttpAnswer> => ({ ...answer(status), json });
  const calls = createTokenCalls({ address: "a", namespace: undefined, send, close: async () => {} }, 2000);
  const login = { path: "auth/approle/login", body: {}, secrets: [], namespace: undefined };
  for (const call of [calls.logIn(login), calls.renew("token", undefined), calls.lookUp("token")]) {
    const isTaken = await call.then(
      () => true,
      () => false,
    );
    expect(isTaken).toBe(counts);
  }
});
