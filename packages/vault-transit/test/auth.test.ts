import { execFile, execFileSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inspect, promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { GuardPolicy, Signer } from "@signpost/core";
import { openVaultTransitSigner, type VaultTransitAuth } from "@signpost/vault-transit";
import {
  dataReply,
  errorReply,
  startFakeVaultTransit,
  type FakeVaultTransit,
  VAULT_TRANSIT_FAULTS,
} from "@signpost/test-backends/fake-vault-transit";
import { acceptLogins, type FakeLogins } from "./support/fake-logins.ts";
import { newMessage, rejection, signsTruly } from "./support/signatures.ts";

const DIGEST = new Uint8Array(32).fill(7);
const APPROLE = { method: "approle", roleId: "the-role-id", secretId: "the-secret-id" } as const;
const LOGIN = "auth/approle/login";
const RENEW = "auth/token/renew-self";
const REVOKE = "auth/token/revoke-self";

let fake: FakeVaultTransit;
let logins: FakeLogins;
let folder: string;
const opened: Signer[] = [];

const open = async (auth: VaultTransitAuth, policy: GuardPolicy | false = false): Promise<Signer> => {
  const signer = await openVaultTransitSigner({ address: fake.address, key: "op", auth, policy });
  opened.push(signer);
  return signer;
};

beforeAll(async () => {
  fake = await startFakeVaultTransit();
  folder = await mkdtemp(join(tmpdir(), "signpost-vault-auth-"));
});
beforeEach(() => {
  fake.reset();
  logins = acceptLogins(fake);
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((signer) => signer.close()));
});
afterAll(async () => {
  await fake.stop();
  await rm(folder, { recursive: true });
});

describe("a login", () => {
  test("with AppRole sends the role id and the secret id", async () => {
    expect(await signsTruly(await open(APPROLE))).toBe(true);
    expect(logins.calls(LOGIN)).toMatchObject([
      { token: undefined, body: { role_id: "the-role-id", secret_id: "the-secret-id" } },
    ]);
    expect(fake.requests.at(-1)).toMatchObject({ token: logins.tokens[0], path: "transit/sign/op/sha2-256" });
  });

  test("with AppRole takes the secret id from a function or a file, for each login", async () => {
    const secretIdFile = join(folder, "secret-id");
    await writeFile(secretIdFile, "from-file\n");
    const secretId = vi.fn<() => Promise<string>>(async () => "from-function");
    await open({ method: "approle", roleId: "r", secretIdFile });
    await open({ method: "approle", roleId: "r", secretId });
    await open({ method: "approle", roleId: "r" });
    expect(logins.calls(LOGIN).map(({ body }) => body["secret_id"])).toEqual(["from-file", "from-function", undefined]);
    expect(secretId).toHaveBeenCalledTimes(1);
  });

  test("with Kubernetes reads the projected token each time", async () => {
    const jwtFile = join(folder, "jwt");
    await writeFile(jwtFile, "eyJ.first.jwt\n");
    const signer = await open({ method: "kubernetes", role: "op", jwtFile });
    await writeFile(jwtFile, "eyJ.second.jwt\n");
    fake.accepted = [];
    expect(await signsTruly(signer)).toBe(true);
    expect(logins.calls("auth/kubernetes/login").map(({ body }) => body)).toEqual([
      { role: "op", jwt: "eyJ.first.jwt" },
      { role: "op", jwt: "eyJ.second.jwt" },
    ]);
  });

  test("goes to the mount and the namespace of the method", async () => {
    const auth = { ...APPROLE, mount: "teams/approle", namespace: "admin" };
    const signer = await openVaultTransitSigner({ address: fake.address, key: "op", auth, namespace: "admin/op" });
    await signer.close();
    expect(fake.requests.map(({ path, namespace }) => [path, namespace])).toEqual([
      ["auth/teams/approle/login", "admin"],
      ["transit/keys/op", "admin/op"],
      [REVOKE, "admin"],
    ]);
  });

  test("is shared by all calls that wait for one", async () => {
    const signer = await open(APPROLE);
    fake.accepted = [];
    const results = await Promise.all(Array.from({ length: 50 }, () => signsTruly(signer)));
    expect(results).toEqual(Array.from({ length: 50 }, () => true));
    expect(logins.calls(LOGIN)).toHaveLength(2);
  });

  test("goes on when one of the calls that wait for it is aborted", async () => {
    const signer = await open(APPROLE);
    fake.accepted = [];
    const controller = new AbortController();
    logins.refuse = ({ path }) => {
      if (path === LOGIN) setTimeout(() => controller.abort(), 5);
      return undefined;
    };
    fake.faults.latencyMs = 50;
    const [aborted, other] = await Promise.allSettled([
      signer.sign(DIGEST, { signal: controller.signal }),
      signer.sign(DIGEST),
    ]);
    expect(aborted).toMatchObject({ status: "rejected", reason: { code: "aborted" } });
    expect(other.status).toBe("fulfilled");
    expect(logins.calls(LOGIN)).toHaveLength(2);
  });

  test("that is refused is not made again for 5 s", async () => {
    logins.refuse = ({ path }) => (path === LOGIN ? errorReply(400, "invalid role or secret ID") : undefined);
    const pinned = { address: fake.address, key: "op", keyVersion: 1, publicKey: fake.publicKey, auth: APPROLE };
    const signer = await openVaultTransitSigner({ ...pinned, policy: false });
    for (let count = 0; count < 5; count += 1) {
      const error = await rejection(signer.sign(DIGEST));
      expect(error).toMatchObject({ code: "access_denied", uri: signer.uri });
      expect(inspect(error, { depth: 10 })).not.toContain(APPROLE.secretId);
    }
    expect(logins.calls(LOGIN)).toHaveLength(1);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 5001);
    logins.refuse = () => undefined;
    expect(await signsTruly(signer)).toBe(true);
    vi.restoreAllMocks();
    await signer.close();
  });

  test.each([
    [503, "Vault is sealed", "unavailable"],
    [429, "rate limit quota exceeded", "throttled"],
    [500, "internal error", "unavailable"],
  ] as const)("that fails with %i %s is tried again by the guard", async (status, message, code) => {
    let failures = 0;
    logins.refuse = ({ path }) => (path === LOGIN && ++failures <= 2 ? errorReply(status, message) : undefined);
    const signer = await open(APPROLE, {});
    expect(await signsTruly(signer)).toBe(true);
    fake.accepted = [];
    logins.refuse = ({ path }) => (path === LOGIN ? errorReply(status, message) : undefined);
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code });
  });

  test.each([
    ["without a token", { auth: { lease_duration: 5 } }],
    ["with a token that fits no header", { auth: { client_token: "a\nb", lease_duration: 5 } }],
    ["without a lease", { auth: { client_token: "abc" } }],
    ["without auth", {}],
  ])("that is answered %s is incomplete", async (_what, answer) => {
    logins.refuse = ({ path }) => (path === LOGIN ? { status: 200, body: JSON.stringify(answer) } : undefined);
    const auth = { address: fake.address, key: "op", auth: APPROLE, policy: { maxAttempts: 1 } };
    expect(await rejection(openVaultTransitSigner(auth))).toMatchObject({ code: "integrity", transient: true });
  });

  test("that is not answered ends with the attempt", async () => {
    logins.refuse = () => ({ status: 200, body: "", ending: "hang" });
    const policy = { attemptTimeoutMs: 100, maxAttempts: 1 };
    const error = await rejection(openVaultTransitSigner({ address: fake.address, key: "op", auth: APPROLE, policy }));
    expect(error).toMatchObject({ code: "timeout" });
  });
});

/** The paths about tokens, in order of arrival. */
const tokenPaths = (): readonly string[] =>
  fake.requests.map(({ path }) => path).filter((path) => path.startsWith("auth/"));

/** Waits until these were called, in this order and no others. */
const expectPaths = (...paths: readonly string[]): Promise<void> =>
  vi.waitFor(() => expect(tokenPaths().slice(0, paths.length)).toEqual(paths), { timeout: 5000, interval: 5 });

describe("a lease", () => {
  test("is renewed at two thirds, also while nothing is signed, by a timer that keeps no process alive", async () => {
    logins.lease = 0.6;
    logins.renewed = 0.6;
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const startedAt = performance.now();
    await open(APPROLE);
    expect(timers()).toBeLessThanOrEqual(before);
    await expectPaths(LOGIN, RENEW);
    expect(performance.now() - startedAt).toBeGreaterThan(390);
    expect(logins.calls(RENEW)).toMatchObject([{ token: logins.tokens[0] }]);
    await expectPaths(LOGIN, RENEW, RENEW);
  });

  test("keeps no process alive, even if its signer is never closed", async () => {
    const script = `
      import { openVaultTransitSigner } from "@signpost/vault-transit";
      const auth = ${JSON.stringify(APPROLE)};
      const signer = await openVaultTransitSigner({ address: "${fake.address}", key: "op", auth });
      console.log((await signer.sign(new Uint8Array(32))).length);
    `;
    const program = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
      cwd: import.meta.dirname,
      timeout: 30_000,
    });
    expect((await program).stdout).toBe("64\n");
    expect(logins.calls(LOGIN)).toHaveLength(1);
  });

  test("is renewed by one call, while the others go on with the token", async () => {
    const signer = await open(APPROLE);
    // Two thirds and a little more.
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 2_500_000);
    await Promise.all(Array.from({ length: 20 }, () => signsTruly(signer)));
    vi.restoreAllMocks();
    await expectPaths(LOGIN, RENEW);
    expect(tokenPaths()).toHaveLength(2);
  });

  test("that is not renewable is replaced by a new login at two thirds", async () => {
    logins.lease = 0.3;
    logins.renewable = false;
    await open(APPROLE);
    await expectPaths(LOGIN, LOGIN);
  });

  test("that a renewal makes shorter has reached its maximum, and a new login follows", async () => {
    logins.lease = 0.3;
    logins.renewed = 0.15;
    await open(APPROLE);
    await expectPaths(LOGIN, RENEW, LOGIN);
  });

  test("whose renewal is refused is replaced by a new login", async () => {
    logins.lease = 0.3;
    logins.refuse = ({ path }) => (path === RENEW ? errorReply(403, "permission denied") : undefined);
    const signer = await open(APPROLE);
    await expectPaths(LOGIN, RENEW, LOGIN);
    expect(await signsTruly(signer)).toBe(true);
  });

  test("whose renewal fails for a while is used to its end, and not renewed for every call", async () => {
    logins.refuse = ({ path }) => (path === RENEW ? errorReply(503, "Vault is sealed") : undefined);
    const signer = await open(APPROLE);
    const start = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(start + 2_500_000);
    for (let count = 0; count < 5; count += 1) expect(await signsTruly(signer)).toBe(true);
    await expectPaths(LOGIN, RENEW);
    expect(tokenPaths()).toHaveLength(2);
    clock.mockReturnValue(start + 3_601_000);
    expect(await signsTruly(signer)).toBe(true);
    vi.restoreAllMocks();
    expect(logins.calls(LOGIN)).toHaveLength(2);
  });

  test("that ended while the process was frozen is replaced before a call is sent", async () => {
    const signer = await open(APPROLE);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_001);
    expect(await signsTruly(signer)).toBe(true);
    vi.restoreAllMocks();
    expect(logins.calls(LOGIN)).toHaveLength(2);
    expect(fake.requests.filter(({ path }) => path.startsWith("transit/sign"))).toMatchObject([
      { token: logins.tokens[1] },
    ]);
  });

  test("of 0 never ends", async () => {
    logins.lease = 0;
    const signer = await open(APPROLE);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1e12);
    expect(await signsTruly(signer)).toBe(true);
    vi.restoreAllMocks();
    expect(logins.calls(LOGIN)).toHaveLength(1);
    expect(logins.calls(RENEW)).toHaveLength(0);
  });
});

describe("a refused token", () => {
  test("causes one login in 5 s, however many calls a path forbids", async () => {
    const signer = await open(APPROLE);
    fake.faults.on("access-denied", "sign");
    const errors = await Promise.all(Array.from({ length: 30 }, () => rejection(signer.sign(DIGEST))));
    for (let count = 0; count < 30; count += 1) errors.push(await rejection(signer.sign(DIGEST)));
    for (const error of errors) expect(error).toMatchObject({ code: "access_denied", transient: false });
    expect(logins.calls(LOGIN)).toHaveLength(2);
    // The token that was replaced would live on.
    expect(logins.calls(REVOKE)).toMatchObject([{ token: logins.tokens[0] }]);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 5001);
    await Promise.all(Array.from({ length: 30 }, () => rejection(signer.sign(DIGEST))));
    vi.restoreAllMocks();
    expect(logins.calls(LOGIN)).toHaveLength(3);
  });

  test("whose new login fails for a while leaves no call denied", async () => {
    const signer = await open(APPROLE, { maxAttempts: 20, deadlineMs: 20_000 });
    fake.accepted = [];
    let failures = 0;
    logins.refuse = ({ path }) => (path === LOGIN && ++failures <= 3 ? errorReply(503, "Vault is sealed") : undefined);
    // Answered at different times, so that some are refused while no token is there.
    const calls = Array.from({ length: 20 }, async (_, index) => {
      await delay(index);
      return signsTruly(signer);
    });
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 20 }, () => true));
  });

  test("of the caller is not replaced", async () => {
    fake.accepted = [fake.token];
    const signer = await open({ method: "token", token: fake.token });
    fake.accepted = [];
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "access_denied" });
    expect(logins.calls(LOGIN)).toHaveLength(0);
    expect(fake.requests.filter(({ path }) => path.startsWith("transit/sign"))).toHaveLength(1);
  });
});

test("no token, secret id or JWT is in an error, an event, a health note or a URI", async () => {
  const jwtFile = join(folder, "secret-jwt");
  await writeFile(jwtFile, "the-service-account-jwt");
  const seen: unknown[] = [];
  const listen = (event: unknown): void => void seen.push(event);
  subscribe("signpost:sign", listen);
  for (const auth of [APPROLE, { method: "kubernetes", role: "op", jwtFile } as const]) {
    const signer = await openVaultTransitSigner({ address: fake.address, key: "op", auth });
    await signer.sign(DIGEST);
    for (const fault of VAULT_TRANSIT_FAULTS) {
      if (fault === "unreachable" || /hang|slow/.test(fault)) continue;
      fake.faults.on(fault);
      seen.push(await signer.sign(DIGEST).catch((error: unknown) => error));
      fake.faults.off(fault);
    }
    seen.push(signer.uri, signer.health());
    await signer.close();
    // A proxy that repeats what was sent.
    logins.refuse = ({ body, token }) => errorReply(400, JSON.stringify({ body, token }));
    const refused = openVaultTransitSigner({ address: fake.address, key: "op", auth, policy: { maxAttempts: 1 } });
    seen.push(await rejection(refused));
    logins.refuse = () => undefined;
  }
  unsubscribe("signpost:sign", listen);
  expect(logins.tokens.length).toBeGreaterThanOrEqual(2);
  const text = inspect(seen, { depth: 20, maxStringLength: null });
  for (const secret of [...logins.tokens, APPROLE.secretId, "the-service-account-jwt"])
    expect(text).not.toContain(secret);
});

describe("a token of the caller", () => {
  const lookUp = (ttl: number, renewable: boolean): void => {
    fake.accepted = [fake.token];
    logins.refuse = ({ path }) => (path === "auth/token/lookup-self" ? dataReply({ ttl, renewable }) : undefined);
  };

  test("is renewed while it is renewable, and never revoked", async () => {
    lookUp(0.3, true);
    logins.renewed = 0.3;
    const signer = await open({ method: "token", token: fake.token });
    await expectPaths("auth/token/lookup-self", RENEW, RENEW);
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
    const count = logins.calls(RENEW).length;
    await delay(250);
    expect(logins.calls(RENEW)).toHaveLength(count);
    expect(logins.calls(REVOKE)).toHaveLength(0);
  });

  test.each([
    ["never ends", 0, false],
    ["is not renewable", 0.2, false],
  ])("that %s is not renewed", async (_what, ttl, renewable) => {
    lookUp(ttl, renewable);
    await open({ method: "token", token: fake.token });
    await delay(250);
    expect(logins.calls("auth/token/lookup-self")).toHaveLength(1);
    expect(logins.calls(RENEW)).toHaveLength(0);
  });

  test("that may not look itself up is used as it is", async () => {
    fake.accepted = [fake.token];
    logins.refuse = () => errorReply(403, "permission denied");
    const signer = await open({ method: "token", token: fake.token });
    for (let count = 0; count < 3; count += 1) expect(await signsTruly(signer)).toBe(true);
    expect(logins.calls("auth/token/lookup-self")).toHaveLength(1);
  });

  test("comes from a function, which is called again after a refusal", async () => {
    fake.accepted = ["first", "second"];
    const token = vi.fn<() => string>().mockReturnValueOnce("first").mockReturnValue("second");
    const signer = await open({ method: "token", token });
    expect(await signsTruly(signer)).toBe(true);
    expect(token).toHaveBeenCalledTimes(1);
    fake.accepted = ["second"];
    expect(await Promise.all([signsTruly(signer), signsTruly(signer)])).toEqual([true, true]);
    expect(token).toHaveBeenCalledTimes(2);
    // The same one again.
    fake.accepted = [];
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "access_denied" });
    await signer.close();
    expect(logins.calls(REVOKE)).toHaveLength(0);
  });

  test.each<[what: string, token: () => string | Promise<string>, code: string]>([
    ["fails", () => Promise.reject(new Error("hvs.secret-in-an-error")), "unavailable"],
    ["returns nothing", () => "", "access_denied"],
    ["returns a token that fits no header", () => "hvs.secret-in-an-error\n", "access_denied"],
    ["returns something else", () => 3 as unknown as string, "access_denied"],
  ])("whose function %s is reported without a secret", async (_what, token, code) => {
    const auth = { method: "token", token } as const;
    const error = await rejection(
      openVaultTransitSigner({ address: fake.address, key: "op", auth, policy: { maxAttempts: 1 } }),
    );
    expect(error).toMatchObject({ code });
    expect(inspect(error, { depth: 10 })).not.toContain("secret-in-an-error");
  });
});

describe("a token file", () => {
  const fileAuth = (name: string): { readonly method: "token-file"; readonly path: string } => ({
    method: "token-file",
    path: join(folder, name),
  });

  test("is read again when its token is refused, without a pause", async () => {
    const auth = fileAuth("sink");
    fake.accepted = ["from-agent-1"];
    await writeFile(auth.path, "from-agent-1\n");
    const signer = await open(auth);
    for (const token of ["from-agent-2", "from-agent-3"]) {
      // As an agent does it: another file takes the name.
      await writeFile(`${auth.path}.new`, token);
      await rename(`${auth.path}.new`, auth.path);
      fake.accepted = [token];
      expect(await signsTruly(signer)).toBe(true);
    }
    expect(logins.calls(REVOKE)).toHaveLength(0);
  });

  test("is read again after a second, also through a link that now leads elsewhere", async () => {
    const auth = fileAuth("projected");
    fake.accepted = ["volume-1", "volume-2"];
    await writeFile(join(folder, "v1"), "volume-1");
    await writeFile(join(folder, "v2"), "volume-2");
    await symlink("v1", auth.path);
    const signer = await open(auth);
    await symlink("v2", `${auth.path}.new`);
    await rename(`${auth.path}.new`, auth.path);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1001);
    expect(await signsTruly(signer)).toBe(true);
    vi.restoreAllMocks();
    expect(fake.requests.at(-1)).toMatchObject({ token: "volume-2" });
  });

  test("that is missing for a moment leaves the last token in use", async () => {
    const auth = fileAuth("moment");
    fake.accepted = ["lasting"];
    await writeFile(auth.path, "lasting");
    const signer = await open(auth);
    await rm(auth.path);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1001);
    expect(await signsTruly(signer)).toBe(true);
    vi.restoreAllMocks();
  });

  test("that is gone when its token is refused is named as the reason", async () => {
    const auth = fileAuth("gone");
    fake.accepted = ["gone-token"];
    await writeFile(auth.path, "gone-token");
    const signer = await open(auth);
    await rm(auth.path);
    fake.accepted = [];
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toMatchObject({ code: "access_denied" });
    expect(String(error)).toContain("the file in auth.path cannot be read: ENOENT");
  });

  test("that is still refused denies access", async () => {
    const auth = fileAuth("stale");
    fake.accepted = ["stale-token"];
    await writeFile(auth.path, "stale-token");
    const signer = await open(auth);
    fake.accepted = [];
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "access_denied" });
    expect(fake.requests.filter(({ path }) => path.startsWith("transit/sign"))).toHaveLength(1);
  });

  test.each<[what: string, make: (path: string) => Promise<unknown>]>([
    ["is not there", async () => undefined],
    ["is empty", (path) => writeFile(path, "\n")],
    ["has two lines", (path) => writeFile(path, "secret-one\nsecret-two\n")],
    ["is too long", (path) => writeFile(path, "x".repeat(20_000))],
    ["is a FIFO", async (path) => execFileSync("mkfifo", [path])],
  ])("that %s denies access, and its path and content are not shown", async (what, make) => {
    const auth = fileAuth(`bad ${what}`);
    await make(auth.path);
    const error = await rejection(openVaultTransitSigner({ address: fake.address, key: "op", auth }));
    expect(error).toMatchObject({ code: "access_denied" });
    expect(String(error)).toContain("auth.path");
    expect(inspect(error, { depth: 10 })).not.toMatch(/secret-one|xxxx/);
  });
});

test("without a token, an agent adds it, and recognizes the request", async () => {
  fake.accepted = [""];
  const dispatched: unknown[] = [];
  const signing = openVaultTransitSigner({
    address: "http://127.0.0.1:8100",
    key: "op",
    keyVersion: 1,
    publicKey: fake.publicKey,
    auth: { method: "none" },
    policy: false,
    dispatcher: {
      request: async ({ headers }) => {
        dispatched.push(headers);
        return { statusCode: 403, headers: {}, body: (async function* empty() {})() };
      },
    },
  });
  expect(await rejection((await signing).sign(newMessage().digest))).toMatchObject({ code: "access_denied" });
  expect(dispatched).toEqual([
    { accept: "application/json", "content-type": "application/json", "x-vault-request": "true" },
  ]);
});

describe("closing", () => {
  test("revokes the token of the login, and renews nothing after it", async () => {
    logins.lease = 0.3;
    const signer = await open(APPROLE);
    await signer.close();
    expect(fake.requests.at(-1)).toMatchObject({ path: REVOKE, token: logins.tokens[0] });
    await delay(300);
    expect(fake.requests.at(-1)?.path).toBe(REVOKE);
  });

  test("revokes a token whose login was still under way", async () => {
    const signer = await open(APPROLE);
    fake.accepted = [];
    fake.faults.latencyMs = 50;
    const controller = new AbortController();
    const signing = rejection(signer.sign(DIGEST, { signal: controller.signal }));
    // The login has been sent. Nothing waits for it any more.
    await vi.waitFor(() => expect(logins.calls(LOGIN)).toHaveLength(2));
    controller.abort();
    await Promise.all([signer.close(), signing]);
    expect(logins.calls(REVOKE).map(({ token }) => token)).toContain(logins.tokens[1]);
  });

  test("takes less than a second if the server does not answer, and does not fail", async () => {
    const signer = await open(APPROLE);
    logins.refuse = () => ({ status: 200, body: "", ending: "hang" });
    const startedAt = performance.now();
    await signer.close();
    expect(performance.now() - startedAt).toBeLessThan(1500);
  });

  test("follows an opening that failed", async () => {
    fake.changes = { type: "rsa-2048" };
    const options = { address: fake.address, key: "op", auth: APPROLE };
    expect(await rejection(openVaultTransitSigner(options))).toMatchObject({ code: "unsupported_key" });
    expect(logins.calls(REVOKE)).toHaveLength(1);
  });
});
