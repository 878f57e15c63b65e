import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import { expect, test } from "vitest";
import { createJwksEndpoint, createRotationSchedule, signJwt, type RotationSchedule } from "@signpost/core";
import { azureKeyVaultKeys, type AzureKeyVaultKeys } from "@signpost/azure-key-vault";
import { STEADY, startVaultFixture } from "./support/vault-fixture.ts";

const { fake, options } = await startVaultFixture();
const ISSUER = "https://op.example";
const HOUR_MS = 3_600_000;

/** A key that was made a day ago. */
const age = (): void => void (fake.key.latest.attributes.created -= 86_400);

test("a version that a rotation policy makes is announced first, and no token is wrong", async () => {
  age();
  await using keys = await azureKeyVaultKeys({ ...options, policy: STEADY });
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
  const tokens = (count: number): readonly Promise<string>[] =>
    Array.from({ length: count }, () => signJwt(() => current.keySet(), { iss: ISSUER, sub: "248289", aud: "rp" }));
  const kidsOf = async (made: readonly Promise<string>[], jwks: JSONWebKeySet): Promise<Set<string | undefined>> => {
    const verify = async (token: string): Promise<string | undefined> =>
      (await jwtVerify(token, createLocalJWKSet(jwks))).protectedHeader.kid;
    return new Set(await Promise.all((await Promise.all(made)).map(verify)));
  };
  const kids = ({ keys: jwks }: JSONWebKeySet): readonly (string | undefined)[] => jwks.map(({ kid }) => kid);

  const [first] = (await published()).keys;
  const inFlight = tokens(30);
  // What the rotation policy does. From now on, a call without a version would sign with it.
  fake.key.rotate();
  expect(await keys.refresh()).toBe(true);
  current = schedule();
  // In the time to pick it up, the new version is not published.
  expect(kids(await published())).toEqual([first?.kid]);
  expect(await kidsOf(inFlight, await published())).toEqual(new Set([first?.kid]));

  // Announced: published, and not signing.
  now += 20 * 60_000;
  const announced = await published();
  expect(kids(announced)).toEqual([first?.kid, expect.any(String)]);
  expect(current.jwksRotationActive()).toBe(true);
  expect(await kidsOf(tokens(10), announced)).toEqual(new Set([first?.kid]));

  // The activation, in the middle of calls. Each verifies with the set that was announced hours before.
  const across = [...tokens(20)];
  now += 4 * HOUR_MS;
  across.push(...tokens(20));
  expect(await kidsOf(across, announced)).toEqual(new Set(kids(announced)));
  expect(current.keySet().active.keyId).toBe(announced.keys[1]?.kid);
});

test("every replica computes the same dates, whenever it lists the versions", async () => {
  age();
  await using early = await azureKeyVaultKeys({ ...options, policy: STEADY });
  fake.key.rotate();
  await using late = await azureKeyVaultKeys({ ...options, policy: STEADY });
  expect(await early.refresh()).toBe(true);
  const dates = ({ versions }: AzureKeyVaultKeys): unknown =>
    versions.map(({ keyVersion, announcedFrom, activeFrom }) => ({ keyVersion, announcedFrom, activeFrom }));
  expect(dates(early)).toEqual(dates(late));
  const [first, second] = late.versions;
  expect(first?.activeFrom).toEqual(first?.created);
  expect(Number(second?.announcedFrom) - Number(second?.created)).toBe(15 * 60_000);
  expect(Number(second?.activeFrom) - Number(second?.announcedFrom)).toBe(4 * HOUR_MS + 60_000);
});
