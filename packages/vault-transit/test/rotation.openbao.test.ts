import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  createRotationSchedule,
  signJwt,
  type RotationSchedule,
  type Signer,
} from "@signpost/core";
import { vaultTransitKeys, type VaultTransitKeys, type VaultTransitKeysOptions } from "@signpost/vault-transit";
import { startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { countLogins, createAppRole, createKey, opPolicy, writePolicy } from "./support/server.ts";
import { rejection, signsTruly } from "./support/signatures.ts";

const ISSUER = "https://op.example";
const HOUR_MS = 3_600_000;

let server: Openbao;
beforeAll(async () => {
  server = await startOpenbao();
});
afterAll(() => server.stop());

const optionsFor = (key: string): VaultTransitKeysOptions => ({
  address: server.address,
  key,
  auth: { method: "token", token: server.token },
});

describe("a live rotation", () => {
  test("announces the new version first, and none of 1,000 tokens in flight is wrong", async () => {
    await createKey(server, "transit/keys/op");
    const policy = { concurrency: 32, maxQueue: 2000, deadlineMs: 60_000, attemptTimeoutMs: 20_000 };
    await using keys = await vaultTransitKeys({ ...optionsFor("op"), policy });
    let now = Date.now();
    const schedule = (): RotationSchedule =>
      createRotationSchedule(keys.versions, { maxTokenLifetimeSeconds: 3600, now: () => now });
    let current = schedule();
    const endpoint = createJwksEndpoint({
      issuer: ISSUER,
      keys: () => current.keySet(),
      jwksRotationActive: () => current.jwksRotationActive(),
    });
    const published = async (): Promise<JSONWebKeySet> => {
      const response = endpoint.fetch(new Request(endpoint.jwksUri));
      return (await response.json()) as JSONWebKeySet;
    };
    const token = (): Promise<string> => signJwt(() => current.keySet(), { iss: ISSUER, sub: "248289", aud: "rp" });
    const kidsOf = async (tokens: readonly string[], jwks: JSONWebKeySet): Promise<Set<string | undefined>> => {
      const verified = await Promise.all(tokens.map((each) => jwtVerify(each, createLocalJWKSet(jwks))));
      return new Set(verified.map(({ protectedHeader }) => protectedHeader.kid));
    };

    const [first] = (await published()).keys;
    const inFlight = Array.from({ length: 1000 }, token);
    await server.must("POST", "transit/keys/op/rotate");
    expect(await keys.refresh()).toBe(true);
    current = schedule();
    // In the time to pick it up, the new version is not published.
    expect((await published()).keys.map(({ kid }) => kid)).toEqual([first?.kid]);
    // Every token is of the first version: the server would sign with the latest.
    expect(await kidsOf(await Promise.all(inFlight), await published())).toEqual(new Set([first?.kid]));

    // Announced: published, and not signing.
    now += 20 * 60_000;
    const announced = await published();
    expect(announced.keys.map(({ kid }) => kid)).toEqual([first?.kid, expect.any(String)]);
    expect(current.jwksRotationActive()).toBe(true);
    expect(await kidsOf(await Promise.all(Array.from({ length: 50 }, token)), announced)).toEqual(
      new Set([first?.kid]),
    );

    // The activation, in the middle of a thousand tokens. Each verifies with the set that was announced hours before.
    const across = Array.from({ length: 500 }, token);
    now += 4 * HOUR_MS;
    across.push(...Array.from({ length: 500 }, token));
    const kids = await kidsOf(await Promise.all(across), announced);
    expect(kids).toEqual(new Set(announced.keys.map(({ kid }) => kid)));
    expect(current.keySet().active.keyId).toBe(announced.keys[1]?.kid);
  });

  test("gives every replica the same schedule, whenever it reads the versions", async () => {
    await createKey(server, "transit/keys/shared");
    await using early = await vaultTransitKeys(optionsFor("shared"));
    await server.must("POST", "transit/keys/shared/rotate");
    await using late = await vaultTransitKeys(optionsFor("shared"));
    expect(await early.refresh()).toBe(true);
    const dates = ({ versions }: VaultTransitKeys): unknown =>
      versions.map(({ keyVersion, announcedFrom, activeFrom }) => ({ keyVersion, announcedFrom, activeFrom }));
    expect(dates(early)).toEqual(dates(late));
    const [first, second] = late.versions;
    expect(first?.activeFrom).toEqual(first?.creationTime);
    const announcedAfter = Number(second?.announcedFrom) - Number(second?.creationTime);
    expect(announcedAfter).toBe(15 * 60_000);
    expect(Number(second?.activeFrom) - Number(second?.announcedFrom)).toBe(4 * HOUR_MS + 60_000);
  });
});

describe("the versions of a key", () => {
  test("are entries of a key set, the newest last", async () => {
    await createKey(server, "transit/keys/listed");
    await server.must("POST", "transit/keys/listed/rotate");
    await using keys = await vaultTransitKeys(optionsFor("listed"));
    expect(keys.versions.map(({ keyVersion }) => keyVersion)).toEqual([1, 2]);
    const set = createKeySet(keys.versions.toReversed());
    expect(set.active.signer.uri).toBe("vault:///transit/keys/listed?version=2");
    expect(await signsTruly(set.active.signer)).toBe(true);
  });

  test("stay the same array and the same signers until something changes", async () => {
    await createKey(server, "transit/keys/steady");
    await using keys = await vaultTransitKeys(optionsFor("steady"));
    const { versions } = keys;
    expect(await Promise.all([keys.refresh(), keys.refresh()])).toEqual([false, false]);
    expect(keys.versions).toBe(versions);
    await server.must("POST", "transit/keys/steady/rotate");
    expect(await keys.refresh()).toBe(true);
    expect(signerOf(keys, 0)).toBe(signerOf({ versions }, 0));
  });

  test("have only a public key if the server does not let them sign", async () => {
    await createKey(server, "transit/keys/retired");
    for (let count = 0; count < 2; count += 1) await server.must("POST", "transit/keys/retired/rotate");
    await server.must("POST", "transit/keys/retired/config", { min_decryption_version: 2, min_encryption_version: 3 });
    await using keys = await vaultTransitKeys(optionsFor("retired"));
    expect(keys.versions.map((version) => [version.keyVersion, "signer" in version])).toEqual([
      [2, false],
      [3, true],
    ]);
  });

  test("share one login, which is revoked when all are closed", async () => {
    await createKey(server, "transit/keys/together");
    await server.must("POST", "transit/keys/together/rotate");
    await writePolicy(server, "together", opPolicy("transit", "together"));
    await server.must("POST", "sys/auth/approle", { type: "approle" });
    const auth = await createAppRole(server, "together", { token_ttl: "1h" });
    const keys = await vaultTransitKeys({ ...optionsFor("together"), auth });
    for (const index of [0, 1]) expect(await signsTruly(signerOf(keys, index))).toBe(true);
    expect(await countLogins(server)).toBe(1);
    await keys.close();
    await keys.close();
    expect(await countLogins(server)).toBe(0);
    expect(await rejection(signerOf(keys, 0).sign(new Uint8Array(32)))).toMatchObject({ code: "closed" });
    expect(await rejection(keys.refresh())).toMatchObject({ code: "closed" });
  });

  test("of a key that was made again are refused, because their numbers name other keys", async () => {
    await createKey(server, "transit/keys/again");
    await using keys = await vaultTransitKeys(optionsFor("again"));
    await server.must("POST", "transit/keys/again/config", { deletion_allowed: true });
    await server.must("DELETE", "transit/keys/again");
    await createKey(server, "transit/keys/again");
    expect(await rejection(keys.refresh())).toMatchObject({ code: "wrong_key", uri: "vault:///transit/keys/again" });
    expect(keys.versions).toHaveLength(1);
  });

  test("of another type, or of no key, are refused", async () => {
    await createKey(server, "transit/keys/rsa", { type: "rsa-2048" });
    expect(await rejection(vaultTransitKeys(optionsFor("rsa")))).toMatchObject({ code: "unsupported_key" });
    expect(await rejection(vaultTransitKeys(optionsFor("none")))).toMatchObject({
      code: "key_not_found",
      uri: "vault:///transit/keys/none",
    });
  });
});

function signerOf({ versions }: Pick<VaultTransitKeys, "versions">, index: number): Signer {
  const version = versions[index];
  if (version === undefined || !("signer" in version)) throw new Error(`no signer at ${index}`);
  return version.signer;
}
