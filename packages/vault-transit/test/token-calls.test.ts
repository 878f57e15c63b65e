import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { readInstant } from "@signpost/core/adapter";
import type { ApiRequest } from "../src/api.ts";
import type { CallTarget } from "../src/errors.ts";
import type { HttpAnswer } from "../src/exchange.ts";
import { loginWithAppRole, loginWithFunction, loginWithKubernetes } from "../src/logins.ts";
import { createTokenCalls, type Lease, type TokenCalls } from "../src/token-calls.ts";
import { rejection } from "./support/signatures.ts";

// What is sent for a token, how long that may take, and what is made of the answer.

const readFile = vi.hoisted(() => vi.fn<(argument: string, path: string) => Promise<string>>());
vi.mock("../src/secret-file.ts", () => ({ readSecretFile: readFile }));

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => {
  vi.useRealTimers();
  readFile.mockReset();
});

const never = async (): Promise<never> => new Promise<never>(() => undefined);
const wait = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};
const leaseOf = (token: string): Lease => ({ token, leaseMs: 3_600_000, since: readInstant(), renewable: true });

describe("the calls about tokens", () => {
  interface Sent {
    readonly target: CallTarget;
    readonly request: ApiRequest;
    readonly token: string | undefined;
    readonly signal: AbortSignal;
  }
  const served = (
    reply: () => Promise<Partial<HttpAnswer>>,
    attemptTimeoutMs = 2000,
  ): { calls: TokenCalls; readonly sent: Sent[] } => {
    const sent: Sent[] = [];
    const calls = createTokenCalls(
      {
        address: "https://vault.example:8200",
        namespace: "team",
        send: async (target, request, token, ending) => {
          sent.push({ target, request, token, signal: ending });
          const usual = { status: 200, json: {}, errors: [], hasErrors: false, repeatsSecrets: false };
          return { ...usual, retryAfter: undefined, ...(await reply()) };
        },
        close: async () => undefined,
      },
      attemptTimeoutMs,
    );
    return { calls, sent };
  };
  const auth = { client_token: "new", lease_duration: 60, renewable: true };
  const LOGIN = { path: "auth/approle/login", body: { role_id: "r" }, secrets: ["s"], namespace: undefined };
  const PLACE = { address: "https://vault.example:8200", namespace: "team" };

  test("are made by their own paths, in the namespace of the method or of the connection", async () => {
    const { calls, sent } = served(async () => ({ json: { auth, data: { ttl: 60, renewable: true } } }));
    await calls.logIn({ ...LOGIN, namespace: "admin" });
    await calls.logIn(LOGIN);
    await calls.renew("held", "admin");
    await calls.lookUp("held");
    await calls.revoke("held", "admin");
    expect(sent).toMatchObject([
      {
        target: { ...PLACE, namespace: "admin", action: "log in with auth/approle" },
        request: {
          method: "POST",
          path: "auth/approle/login",
          body: { role_id: "r" },
          secrets: ["s"],
          namespace: "admin",
        },
        token: undefined,
      },
      { target: { ...PLACE, action: "log in with auth/approle" }, request: { namespace: undefined }, token: undefined },
      {
        target: { ...PLACE, namespace: "admin", action: "renew the token" },
        request: { method: "POST", path: "auth/token/renew-self", body: {}, namespace: "admin" },
        token: "held",
      },
      {
        target: { ...PLACE, action: "look up the token" },
        request: { method: "GET", path: "auth/token/lookup-self" },
        token: "held",
      },
      {
        target: { ...PLACE, namespace: "admin", action: "revoke the token" },
        request: { method: "POST", path: "auth/token/revoke-self", body: {}, namespace: "admin" },
        token: "held",
      },
    ]);
    expect(calls.describeLogin("auth/a/b/login", "admin")).toBe(
      "log in with auth/a/b at https://vault.example:8200 in the namespace admin",
    );
    expect(calls.describeLogin("auth/a/login", undefined)).toContain("in the namespace team");
  });

  test.each([null, { mfa_request_id: "id" }])("read a token although mfa_requirement is %j", async (requirement) => {
    const { calls } = served(async () => ({ json: { auth: { ...auth, mfa_requirement: requirement } } }));
    expect(await calls.logIn(LOGIN)).toMatchObject({ token: "new" });
  });

  test("call an answer incomplete that lacks a token and asks for no second factor", async () => {
    const { calls } = served(async () => ({ json: { auth: { client_token: "", mfa_requirement: null } } }));
    await expect(calls.logIn(LOGIN)).rejects.toMatchObject({
      code: "integrity",
      transient: true,
      message:
        "log in with auth/approle at https://vault.example:8200 in the namespace team was answered without client_token",
    });
  });

  test.each<[what: string, seconds: unknown, leaseMs: number | undefined]>([
    ["seconds", 60, 60_000],
    ["parts of seconds", 0.5, 500],
    ["0, which is no end", 0, Infinity],
    ["less than 0", -1, undefined],
    ["no number", "60", undefined],
    ["no end at all", Infinity, undefined],
    ["nothing", undefined, undefined],
  ])("read a lease of %s", async (_what, seconds, leaseMs) => {
    const { calls } = served(async () => ({
      json: { auth: { ...auth, lease_duration: seconds }, data: { ttl: seconds, renewable: 1 } },
    }));
    const since = readInstant();
    const read = async (lease: Promise<Lease>): Promise<unknown> => lease.catch((error: unknown) => error);
    const missing = expect.objectContaining({ code: "integrity", message: expect.stringMatching(/lease_duration$/) });
    const expected = (others: object): unknown => (leaseMs === undefined ? missing : { leaseMs, since, ...others });
    expect(await read(calls.logIn(LOGIN))).toEqual(expected({ token: "new", renewable: true }));
    expect(await read(calls.lookUp("held"))).toEqual(expected({ token: "held", renewable: false }));
    // A renewal without an end has reached the token's maximum.
    const renewed = expected({ token: "held", renewable: true, ...(leaseMs === Infinity && { leaseMs: 0 }) });
    expect(await read(calls.renew("held", undefined))).toEqual(renewed);
  });

  test.each([
    [true, true],
    [false, false],
    ["true", false],
    [undefined, false],
  ])("read a token with renewable %j as renewable: %s", async (renewable, expected) => {
    const { calls } = served(async () => ({ json: { auth: { ...auth, renewable }, data: { ttl: 60, renewable } } }));
    for (const lease of [calls.logIn(LOGIN), calls.lookUp("held"), calls.renew("held", undefined)]) {
      expect(await lease).toMatchObject({ renewable: expected });
    }
  });

  test.each([
    [1, 2000],
    [2000, 2000],
    [2001, 2001],
  ])("that take an attempt of %i ms may take %i ms", async (attemptTimeoutMs, limitMs) => {
    const { calls, sent } = served(never, attemptTimeoutMs);
    const settled: unknown[] = [];
    calls.logIn(LOGIN).catch((error: unknown) => settled.push(error));
    await wait(limitMs - 1);
    expect([settled, sent[0]?.signal.aborted]).toEqual([[], false]);
    await wait(1);
    expect(sent[0]?.signal.aborted).toBe(true);
    expect(settled).toMatchObject([
      {
        code: "timeout",
        message: `cannot log in with auth/approle at https://vault.example:8200 in the namespace team: no answer within ${limitMs} ms`,
      },
    ]);
  });

  test("that revoke may take 900 ms, and never fail", async () => {
    const { calls } = served(never);
    let isOver = false;
    void calls.revoke("held", undefined).then(() => (isOver = true));
    await wait(899);
    expect(isOver).toBe(false);
    await wait(1);
    expect(isOver).toBe(true);
    await expect(
      served(() => Promise.reject(new Error("cut"))).calls.revoke("held", undefined),
    ).resolves.toBeUndefined();
  });

  test.each<[status: number, errors: readonly string[], code: string, text: string]>([
    [400, ["wrong"], "access_denied", "the server refused the credentials"],
    [403, [], "access_denied", "the server refused the credentials, or nothing is mounted there"],
    [404, [], "access_denied", "there is no such login"],
    [404, ["no handler for route"], "access_denied", "nothing is mounted there"],
    [429, [], "throttled", "over a rate quota of the server"],
    [503, ["Vault is sealed"], "unavailable", "the server is sealed"],
    [401, [], "access_denied", "the server refused the credentials, or nothing is mounted there"],
  ])("that are answered %i %j are %s", async (status, errors, code, text) => {
    const { calls } = served(async () => ({ status, errors, hasErrors: true }));
    expect(await rejection(calls.logIn(LOGIN))).toMatchObject({
      code,
      message: `cannot log in with auth/approle at https://vault.example:8200 in the namespace team: ${text}`,
    });
  });

  test.each([400, 401, 403])("that something else refuses with %i are unavailable", async (status) => {
    const { calls } = served(async () => ({ status, hasErrors: false }));
    for (const call of [calls.logIn(LOGIN), calls.renew("held", undefined), calls.lookUp("held")]) {
      expect(await rejection(call)).toMatchObject({
        code: "unavailable",
        transient: true,
        message: expect.stringMatching(
          new RegExp(`: something other than the server refused: HTTP status ${status}$`),
        ) as string,
      });
    }
  });
});

describe("a login", () => {
  const callsWith = (): { calls: TokenCalls; readonly logIn: ReturnType<typeof vi.fn> } => {
    const logIn = vi.fn<TokenCalls["logIn"]>(async () => leaseOf("new"));
    return {
      calls: {
        describeLogin: (path) => path,
        logIn,
        renew: async (token, namespace) => leaseOf(`${token} ${namespace}`),
        lookUp: never,
        revoke: async () => undefined,
      },
      logIn,
    };
  };

  test("with AppRole goes to its mount, with what must not be shown", async () => {
    const { calls, logIn } = callsWith();
    await loginWithAppRole({ method: "approle", roleId: "r1" }, calls).make();
    const place = { mount: "teams/approle", namespace: "admin" };
    const maker = loginWithAppRole({ method: "approle", roleId: "r1", secretId: () => "s1", ...place }, calls);
    await maker.make();
    readFile.mockResolvedValue("s2");
    await loginWithAppRole({ method: "approle", roleId: "r1", secretIdFile: "/run/secret" }, calls).make();
    expect(logIn.mock.calls).toEqual([
      [{ path: "auth/approle/login", body: { role_id: "r1" }, secrets: [], namespace: undefined }],
      [
        {
          path: "auth/teams/approle/login",
          body: { role_id: "r1", secret_id: "s1" },
          secrets: ["s1"],
          namespace: "admin",
        },
      ],
      [{ path: "auth/approle/login", body: { role_id: "r1", secret_id: "s2" }, secrets: ["s2"], namespace: undefined }],
    ]);
    expect(readFile.mock.calls).toEqual([["auth.secretIdFile", "/run/secret"]]);
    expect(await maker.renew?.("held")).toMatchObject({ token: "held admin" });
  });

  test("with Kubernetes goes to its mount, with the token of the service account", async () => {
    readFile.mockResolvedValue("jwt");
    const { calls, logIn } = callsWith();
    await loginWithKubernetes({ method: "kubernetes", role: "op" }, calls).make();
    const place = { mount: "jwt", namespace: "admin", jwtFile: "/run/jwt" };
    await loginWithKubernetes({ method: "kubernetes", role: "op", ...place }, calls).make();
    const body = { role: "op", jwt: "jwt" };
    expect(logIn.mock.calls).toEqual([
      [{ path: "auth/kubernetes/login", body, secrets: ["jwt"], namespace: undefined }],
      [{ path: "auth/jwt/login", body, secrets: ["jwt"], namespace: "admin" }],
    ]);
    expect(readFile.mock.calls).toEqual([
      ["auth.jwtFile", "/var/run/secrets/kubernetes.io/serviceaccount/token"],
      ["auth.jwtFile", "/run/jwt"],
    ]);
  });

  test("with a function has no end, no renewal and nothing to revoke", async () => {
    const maker = loginWithFunction(() => "given");
    expect(await maker.make()).toEqual({ token: "given", leaseMs: Infinity, since: readInstant(), renewable: false });
    expect(maker.renew).toBeUndefined();
    await expect(maker.revoke("given")).resolves.toBeUndefined();
  });

  test("with a function of the caller is waited for for 10 s", async () => {
    const settled: unknown[] = [];
    loginWithFunction(never)
      .make()
      .catch((error: unknown) => settled.push(error));
    await wait(9999);
    expect(settled).toEqual([]);
    await wait(1);
    expect(settled).toMatchObject([{ code: "timeout", message: "auth.token: no answer within 10000 ms" }]);
  });

  test.each<[what: string, source: () => string | Promise<string>, code: string, message: string]>([
    [
      "nothing",
      () => "",
      "access_denied",
      "what auth.token returned is empty, or contains a character that is not allowed in a header",
    ],
    [
      "an error",
      () => Promise.reject(Object.assign(new Error("secret"), { code: "X" })),
      "unavailable",
      "auth.token failed",
    ],
  ])("with a function that gives %s is told without a secret", async (_what, source, code, message) => {
    const error = await rejection(loginWithFunction(source).make());
    expect(error).toMatchObject({ code, message });
    expect(String(Reflect.get(Object(Reflect.get(Object(error), "cause")), "message"))).not.toContain("secret");
  });

  test("with a function that rejects with an error of ours keeps it", async () => {
    const error = new SignerError("throttled", "slow down");
    expect(await rejection(loginWithFunction(() => Promise.reject(error)).make())).toBe(error);
  });
});
