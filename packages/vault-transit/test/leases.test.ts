import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { dataReply, errorReply } from "@signpost/test-backends/fake-vault-transit";
import { APPROLE, DIGEST, LOGIN, RENEW, REVOKE, startAuthFixture } from "./support/auth-fixture.ts";
import { rejection, signsTruly } from "./support/signatures.ts";

const { fake, logins, open, openGuarded, tokenPaths, expectPaths } = await startAuthFixture();

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

  test("whose renewal fails shows in the health, since calls fail when it ends", async () => {
    let status = 503;
    logins.refuse = ({ path }) => {
      if (path === "auth/token/lookup-self") return dataReply({ ttl: 3600, renewable: true });
      return path === RENEW && status !== 200 ? errorReply(status, "Vault is sealed") : undefined;
    };
    for (const auth of [APPROLE, { method: "token", token: fake.token } as const]) {
      status = 503;
      await using signer = await openGuarded(auth);
      fake.accepted = [fake.token, ...logins.tokens];
      const start = Date.now();
      const clock = vi.spyOn(Date, "now").mockReturnValue(start + 2_500_000);
      const note = /^the token cannot be renewed since .*Z \(unavailable\); calls fail when it ends$/;
      const showsSoon = (health: object): Promise<void> =>
        vi.waitFor(async () => {
          expect(await signsTruly(signer)).toBe(true);
          expect(signer.health()).toMatchObject(health);
        });
      await showsSoon({ status: "degraded", notes: [expect.stringMatching(note)] });
      status = 200;
      clock.mockReturnValue(start + 2_502_000);
      await showsSoon({ status: "ready", notes: [] });
      vi.restoreAllMocks();
    }
  });

  test("of a given token is renewed again after something in front of the server refused", async () => {
    let blocked = true;
    const renewals: string[] = [];
    logins.refuse = ({ path }) => {
      if (path === "auth/token/lookup-self") return dataReply({ ttl: 3600, renewable: true });
      if (path !== RENEW) return undefined;
      renewals.push(blocked ? "blocked" : "done");
      return blocked ? { status: 403, body: "<html>blocked</html>" } : undefined;
    };
    fake.accepted = [fake.token];
    const signer = await open({ method: "token", token: fake.token });
    const start = Date.now();
    const clock = vi.spyOn(Date, "now").mockReturnValue(start + 2_500_000);
    const untilRenewal = (outcome: string): Promise<void> =>
      vi.waitFor(
        async () => {
          expect(await signsTruly(signer)).toBe(true);
          expect(renewals).toContain(outcome);
        },
        { timeout: 20_000 },
      );
    await untilRenewal("blocked");
    blocked = false;
    clock.mockReturnValue(start + 2_502_000);
    await untilRenewal("done");
    vi.restoreAllMocks();
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
