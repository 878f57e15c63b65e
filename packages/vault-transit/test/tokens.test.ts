import { execFileSync } from "node:child_process";
import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { dataReply, errorReply } from "@signpost/test-backends/fake-vault-transit";
import { DIGEST, RENEW, REVOKE, startAuthFixture } from "./support/auth-fixture.ts";
import { newMessage, rejection, signsTruly } from "./support/signatures.ts";

const { fake, logins, folder, open, openGuarded, expectPaths } = await startAuthFixture();

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

  test("whose lookup fails is looked up again after a second, and not for every call", async () => {
    fake.accepted = [fake.token];
    logins.refuse = () => errorReply(429);
    const signer = await open({ method: "token", token: fake.token });
    for (let count = 0; count < 5; count += 1) expect(await signsTruly(signer)).toBe(true);
    expect(logins.calls("auth/token/lookup-self")).toHaveLength(1);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1001);
    expect(await signsTruly(signer)).toBe(true);
    await vi.waitFor(() => expect(logins.calls("auth/token/lookup-self")).toHaveLength(2));
  });

  test.each([
    ["whose renewal is rejected", () => errorReply(403, "permission denied")],
    ["at its maximum", () => undefined],
  ])("%s is not renewed again, and is used until it ends", async (_what, renewal) => {
    fake.accepted = [fake.token];
    logins.renewed = 0;
    logins.refuse = ({ path }) => (path === RENEW ? renewal() : dataReply({ ttl: 0.1, renewable: true }));
    const signer = await open({ method: "token", token: fake.token });
    await expectPaths("auth/token/lookup-self", RENEW);
    await delay(30);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 5000);
    for (let count = 0; count < 3; count += 1) expect(await signsTruly(signer)).toBe(true);
    await delay(50);
    expect(logins.calls(RENEW)).toHaveLength(1);
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
    await using signer = await openGuarded(auth);
    await rm(auth.path);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1001);
    expect(await signsTruly(signer)).toBe(true);
    expect(signer.health()).toMatchObject({
      status: "degraded",
      notes: [
        expect.stringMatching(/^the token's file cannot be read since .*Z \(access_denied\); calls fail when it ends$/),
      ],
    });
    await writeFile(auth.path, "lasting");
    vi.restoreAllMocks();
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 2002);
    expect(await signsTruly(signer)).toBe(true);
    expect(signer.health()).toMatchObject({ status: "ready", notes: [] });
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
    expect(String(error)).toContain(`the file ${auth.path} (auth.path) cannot be read: ENOENT`);
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
  ])("that %s denies access, and its content is not shown", async (what, make) => {
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
