import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { errorReply, VAULT_TRANSIT_FAULTS } from "@signpost/test-backends/fake-vault-transit";
import { APPROLE, DIGEST, LOGIN, REVOKE, startAuthFixture } from "./support/auth-fixture.ts";
import { rejection, signsTruly } from "./support/signatures.ts";

const { fake, logins, folder, open } = await startAuthFixture();

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

  test("names the file that it cannot read, unless that may be a secret", async () => {
    const missing = await rejection(open({ method: "kubernetes", role: "op" }));
    const path = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    expect(missing).toMatchObject({ code: "access_denied" });
    expect(String(missing)).toContain(`the file ${path} (auth.jwtFile) cannot be read: ENOENT`);
    const secret = await rejection(open({ method: "approle", roleId: "r", secretIdFile: "the-secret-itself" }));
    expect(String(secret)).toContain("the file in auth.secretIdFile cannot be read: ENOENT");
    expect(inspect(secret, { depth: 10 })).not.toContain("the-secret-itself");
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
    let secretId = "the-expired-secret-id";
    const auth = { ...APPROLE, secretId: () => secretId };
    const pinned = { address: fake.address, key: "op", keyVersion: 1, publicKey: fake.publicKey, auth };
    const signer = await openVaultTransitSigner({ ...pinned, policy: false });
    for (let count = 0; count < 5; count += 1) {
      const error = await rejection(signer.sign(DIGEST));
      expect(error).toMatchObject({ code: "access_denied", uri: signer.uri });
      expect(inspect(error, { depth: 10 })).not.toContain(secretId);
    }
    expect(logins.calls(LOGIN)).toHaveLength(1);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 5001);
    logins.refuse = () => undefined;
    expect(String(await rejection(signer.sign(DIGEST)))).toContain("the server refused this secret id before");
    expect(logins.calls(LOGIN)).toHaveLength(1);
    vi.restoreAllMocks();
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 10_002);
    secretId = "the-next-secret-id";
    expect(await signsTruly(signer)).toBe(true);
    vi.restoreAllMocks();
    await signer.close();
  });

  test.each([400, 403, 404])("that something in front of the server refuses with %i is made again", async (status) => {
    const pages = [{ status, body: "<html></html>" }];
    logins.refuse = ({ path }) => (path === LOGIN ? pages.pop() : undefined);
    expect(await signsTruly(await open({ ...APPROLE, roleId: `behind-a-proxy-${status}` }))).toBe(true);
    expect(logins.calls(LOGIN)).toHaveLength(2);
  });

  test.each([
    ["the server refused the credentials", errorReply(400, "invalid role or secret ID")],
    ["there is no such login", errorReply(404)],
    ["nothing is mounted there", errorReply(404, 'no handler for route "auth/approle/login". route entry not found.')],
  ])("that is rejected says: %s", async (text, reply) => {
    logins.refuse = ({ path }) => (path === LOGIN ? reply : undefined);
    const error = await rejection(open({ ...APPROLE, roleId: text }));
    expect(error).toMatchObject({ code: "access_denied" });
    expect(String(error)).toContain(`cannot log in with auth/approle at ${fake.address}: ${text}`);
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

  test.each([
    ["an empty token", { client_token: "" }],
    ["no token", {}],
  ])("that is answered with %s and asks for a second factor is denied once, and says so", async (_what, token) => {
    const auth = { ...token, lease_duration: 0, renewable: false, mfa_requirement: { mfa_request_id: "id-of-mfa" } };
    logins.refuse = ({ path }) => (path === LOGIN ? { status: 200, body: JSON.stringify({ auth }) } : undefined);
    const error = await rejection(openVaultTransitSigner({ address: fake.address, key: "op", auth: APPROLE }));
    expect(error).toMatchObject({
      code: "access_denied",
      transient: false,
      message: expect.stringMatching(/cannot log in with auth\/approle at .*second factor \(MFA\)/),
    });
    expect(logins.calls(LOGIN)).toHaveLength(1);
    expect(inspect(error)).not.toContain("id-of-mfa");
  });

  test("that takes longer than an attempt is waited for by the next one, and not made again", async () => {
    const answer = fake.tokens;
    fake.tokens = (request) => ({ ...answer(request), ...(request.path === LOGIN && { delayMs: 500 }) });
    const signer = await open(APPROLE, { attemptTimeoutMs: 300 });
    expect(await signsTruly(signer)).toBe(true);
    expect(logins.calls(LOGIN)).toHaveLength(1);
  });

  test("that is not answered ends with the attempt", async () => {
    logins.refuse = () => ({ status: 200, body: "", ending: "hang" });
    const policy = { attemptTimeoutMs: 100, maxAttempts: 1 };
    const error = await rejection(openVaultTransitSigner({ address: fake.address, key: "op", auth: APPROLE, policy }));
    expect(error).toMatchObject({ code: "timeout" });
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
