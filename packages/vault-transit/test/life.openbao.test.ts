import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, signJwt } from "@signpost/core";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { underLoad } from "./support/load.ts";
import {
  countLogins,
  createAppRole,
  createKey,
  createToken,
  opPolicy,
  writePolicy,
  type AppRole,
} from "./support/server.ts";
import { newMessage, rejection, signsTruly } from "./support/signatures.ts";

const CALLERS = 8;

describe("the life of a server in memory", () => {
  let server: Openbao;
  const role = (name: string, settings: object): Promise<AppRole> => createAppRole(server, name, settings);

  beforeAll(async () => {
    server = await startOpenbao();
    await createKey(server, "transit/keys/op");
    await writePolicy(server, "op", opPolicy());
    await server.must("POST", "sys/auth/approle", { type: "approle" });
  });
  afterAll(() => server.stop());

  test("sealed in the middle of a load, nothing is lost that the deadline covers", async () => {
    const auth = await role("op", { token_ttl: "1h" });
    const policy = { deadlineMs: 20_000, maxAttempts: 100 };
    await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth, policy });
    const { signed, errors, wrong } = await underLoad(signer, CALLERS, async () => {
      await delay(200);
      await server.seal();
      await delay(300);
      await server.unseal();
      await delay(300);
    });
    expect(errors).toEqual([]);
    expect(wrong).toBe(0);
    expect(signed).toBeGreaterThan(CALLERS);
  });

  test("while it is sealed, the server is unavailable, and the error says why", async () => {
    const auth = await role("op", { token_ttl: "1h" });
    const signer = await openVaultTransitSigner({ address: server.address, key: "op", auth, policy: false });
    await server.seal();
    const error = await rejection(signer.sign(newMessage().digest));
    const opening = await rejection(
      openVaultTransitSigner({ address: server.address, key: "op", auth, policy: { maxAttempts: 1 } }),
    );
    await server.unseal();
    for (const each of [error, opening]) {
      expect(each).toMatchObject({ code: "unavailable", transient: true });
      expect(String(each)).toContain("the server is sealed");
    }
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
  });

  test.concurrent("tokens of 4 s end in the middle of a load, and no call fails", async () => {
    await writePolicy(server, "brief", opPolicy());
    const auth = await role("brief", { token_ttl: "4s", token_max_ttl: "6s" });
    await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth });
    // Over a renewal, the maximum of the first token, and the lease of the second.
    const { signed, errors, wrong } = await underLoad(signer, 2, () => delay(8500));
    expect(errors).toEqual([]);
    expect(wrong).toBe(0);
    expect(signed).toBeGreaterThan(10);
  });

  test.concurrent("a given token of 3 s is renewed while it is renewable", async () => {
    const token = await createToken(server, "op", { ttl: "3s", renewable: true, no_default_policy: false });
    const auth = { method: "token", token } as const;
    await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth });
    const { errors } = await underLoad(signer, 1, () => delay(5000));
    expect(errors).toEqual([]);
  });

  test("a policy that is taken away denies access, and does not flood logins", async () => {
    await writePolicy(server, "taken", opPolicy());
    const auth = await role("taken", { token_ttl: "1h" });
    await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth });
    const before = await countLogins(server);
    await writePolicy(server, "taken", opPolicy("transit", "another"));
    const { signed, errors } = await underLoad(signer, CALLERS, () => delay(300));
    expect(signed).toBe(0);
    expect(errors.length).toBeGreaterThan(1);
    for (const error of errors) expect(error).toMatchObject({ code: "access_denied", transient: false });
    // One new login for all of them, and the old token was revoked.
    expect((await countLogins(server)) - before).toBeLessThanOrEqual(1);
    expect(signer.health()).toMatchObject({ status: "down", lastCode: "access_denied" });
    await writePolicy(server, "taken", opPolicy());
    expect(await signsTruly(signer)).toBe(true);
  });

  test("a token that was revoked is replaced by one login, and no call fails", async () => {
    const auth = await role("op", { token_ttl: "1h" });
    await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth });
    const before = await countLogins(server);
    const { errors } = await underLoad(signer, CALLERS, async () => {
      await delay(100);
      await server.must("PUT", "sys/leases/revoke-prefix/auth/approle/login", { sync: true });
      await delay(200);
    });
    expect(errors).toEqual([]);
    expect(before).toBeGreaterThan(0);
    expect(await countLogins(server)).toBe(1);
  });

  test("closing revokes the token of the login", async () => {
    await server.must("PUT", "sys/leases/revoke-prefix/auth/approle/login", { sync: true });
    const auth = await role("op", { token_ttl: "1h" });
    const signer = await openVaultTransitSigner({ address: server.address, key: "op", auth });
    expect(await countLogins(server)).toBe(1);
    await signer.close();
    expect(await countLogins(server)).toBe(0);
  });

  test("wrong credentials deny access, and the error shows none of them", async () => {
    const auth = { ...(await role("op", {})), secretId: "b2f5d0de-wrong-secret" };
    const error = await rejection(openVaultTransitSigner({ address: server.address, key: "op", auth }));
    expect(error).toMatchObject({ code: "access_denied", uri: "vault:///transit/keys/op" });
    expect(String(error)).toContain("cannot log in with auth/approle");
    expect(JSON.stringify(error)).not.toContain(auth.secretId);
    const elsewhere = { ...auth, mount: "nowhere" };
    const missing = await rejection(openVaultTransitSigner({ address: server.address, key: "op", auth: elsewhere }));
    expect(missing).toMatchObject({ code: "access_denied" });
    expect(String(missing)).toContain("nothing is mounted there");
  });

  test("a key that is deleted is not found, at once", async () => {
    await createKey(server, "transit/keys/doomed");
    const auth = { method: "token", token: server.token } as const;
    await using signer = await openVaultTransitSigner({ address: server.address, key: "doomed", auth });
    expect(await signsTruly(signer)).toBe(true);
    await server.must("POST", "transit/keys/doomed/config", { deletion_allowed: true });
    await server.must("DELETE", "transit/keys/doomed");
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({
      code: "key_not_found",
      transient: false,
    });
    // Another key of this name has another public key, and no token is made with it.
    await createKey(server, "transit/keys/doomed");
    const token = signJwt(createKeySet([{ signer }]), { iss: "https://op.example" });
    expect(await rejection(token)).toMatchObject({ code: "bad_signature" });
  });

  test("a version that may not sign any more is disabled", async () => {
    await createKey(server, "transit/keys/raised");
    const auth = { method: "token", token: server.token } as const;
    await using signer = await openVaultTransitSigner({ address: server.address, key: "raised", auth });
    await server.must("POST", "transit/keys/raised/rotate");
    await server.must("POST", "transit/keys/raised/config", { min_encryption_version: 2 });
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "key_disabled", transient: false });
  });

  test.each([true, false])("a rate quota throttles (Retry-After: %s)", async (isTold) => {
    const mount = `quota-${isTold}`;
    await server.must("POST", `sys/mounts/${mount}`, { type: "transit" });
    await createKey(server, `${mount}/keys/op`);
    const auth = { method: "token", token: server.token } as const;
    const signer = await openVaultTransitSigner({ address: server.address, mount, key: "op", auth, policy: false });
    await server.must("POST", "sys/quotas/config", { enable_rate_limit_response_headers: isTold });
    await server.must("POST", `sys/quotas/rate-limit/${mount}`, { path: mount, rate: 1, interval: "1s" });
    const calls = await Promise.all(Array.from({ length: 3 }, () => signer.sign(newMessage().digest).catch(String)));
    await server.must("DELETE", `sys/quotas/rate-limit/${mount}`);
    const refusals = calls.filter((call) => typeof call === "string");
    expect(refusals.length).toBeGreaterThanOrEqual(2);
    for (const text of refusals) {
      expect(text).toContain("over a rate quota");
      expect(/asks to wait \d+ s/.test(text)).toBe(isTold);
    }
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
  });
});
