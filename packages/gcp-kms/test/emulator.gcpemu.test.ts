import { createPublicKey } from "node:crypto";
import type { KeyManagementServiceClient } from "@google-cloud/kms";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { ConfigurationError, createKeySet, signJwt } from "@signpost/core";
import { type GcpKmsClientLike, gcpKms, listGcpKmsKeyVersions, openGcpKmsSigner } from "@signpost/gcp-kms";
import { type GcpKmsEmulator, startGcpKmsEmulator } from "@signpost/test-backends/gcp-kms-emulator";
import { importJWK, jwtVerify } from "jose";
import { CLIENTS } from "./support/clients.ts";
import { newMessage, rejection, signsTruly } from "./support/signatures.ts";

// An independent implementation of the service. Where it differs from the documented service, the test says so
// beside what it allows.

type Purpose = "ASYMMETRIC_SIGN" | "ENCRYPT_DECRYPT";

const RING = "projects/signpost-test/locations/europe-west3/keyRings/op";
let emulator: GcpKmsEmulator;
/** Makes and changes keys as an operator would. */
let admin: KeyManagementServiceClient;

beforeAll(async () => {
  emulator = await startGcpKmsEmulator();
  const [kind] = CLIENTS;
  admin = kind?.connect(emulator) as unknown as KeyManagementServiceClient;
  await admin.createKeyRing({ parent: RING.replace(/\/keyRings.*/, ""), keyRingId: "op" });
});
afterAll(async () => {
  await admin.close();
  await emulator.stop();
});

let keys = 0;
async function createKey(algorithm = "EC_SIGN_P256_SHA256", purpose: Purpose = "ASYMMETRIC_SIGN"): Promise<string> {
  keys += 1;
  const cryptoKeyId = `key-${keys}`;
  const versionTemplate = { algorithm: algorithm as "EC_SIGN_P256_SHA256" };
  await admin.createCryptoKey({ parent: RING, cryptoKeyId, cryptoKey: { purpose, versionTemplate } });
  return `${RING}/cryptoKeys/${cryptoKeyId}`;
}

async function setState(name: string, state: "ENABLED" | "DISABLED"): Promise<void> {
  await admin.updateCryptoKeyVersion({ cryptoKeyVersion: { name, state }, updateMask: { paths: ["state"] } });
}

describe.each(CLIENTS)("an independent Cloud KMS over $label", ({ connect }) => {
  let client: GcpKmsClientLike;
  let cryptoKey: string;
  let keyVersion: string;

  beforeAll(async () => {
    client = connect(emulator);
    cryptoKey = await createKey();
    keyVersion = `${cryptoKey}/cryptoKeyVersions/1`;
  });
  afterAll(async () => {
    await client.close();
  });

  test("opens a version and signs with it", async () => {
    await using signer = await openGcpKmsSigner({ keyVersion, client });
    const [{ pem }] = await admin.getPublicKey({ name: keyVersion });
    const { x, y } = createPublicKey(pem ?? "").export({ format: "jwk" });
    expect(signer.publicKey).toEqual({ kty: "EC", crv: "P-256", x, y });
    for (let round = 0; round < 20; round += 1) expect(await signsTruly(signer)).toBe(true);
  });

  test("signs a token that jose verifies", async () => {
    await using signer = await openGcpKmsSigner({ keyVersion, client });
    const jwt = await signJwt(createKeySet([{ signer }]), { iss: "https://op.example" });
    const { payload } = await jwtVerify(jwt, await importJWK(signer.publicKey, "ES256"));
    expect(payload.iss).toBe("https://op.example");
  });

  test("lists eleven versions in numeric order, which it gives in that of strings", async () => {
    const parent = await createKey();
    for (let version = 2; version <= 11; version += 1) await admin.createCryptoKeyVersion({ parent });
    await setState(`${parent}/cryptoKeyVersions/2`, "DISABLED");
    const versions = await listGcpKmsKeyVersions(parent, { client });
    expect(versions.map((version) => version.keyVersion)).toEqual(
      Array.from({ length: 11 }, (_, index) => `${parent}/cryptoKeyVersions/${index + 1}`),
    );
    expect(versions.map(({ state }) => state)).toEqual(["ENABLED", "DISABLED", ...Array(9).fill("ENABLED")]);
    for (const { createTime } of versions) expect(Math.abs(Date.now() - createTime.getTime())).toBeLessThan(600_000);
  });

  test("refuses a key without a version and names those that are ENABLED", async () => {
    const error = await rejection(gcpKms({ client }).open(`gcpkms://${cryptoKey}`));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ message: expect.stringMatching(/: projects\/.*\/cryptoKeyVersions\/1$/) });
  });

  test("each version keeps its own key, whatever the newest one is", async () => {
    const parent = await createKey();
    const first = await openGcpKmsSigner({ keyVersion: `${parent}/cryptoKeyVersions/1`, client });
    await admin.createCryptoKeyVersion({ parent });
    const second = await openGcpKmsSigner({ keyVersion: `${parent}/versions/2`, client });
    expect(await signsTruly(first)).toBe(true);
    expect(await signsTruly(second)).toBe(true);
    expect(second.publicKey.x).not.toBe(first.publicKey.x);
  });

  const checks = signerChecks({
    open: (policy) => openGcpKmsSigner({ keyVersion, client, policy }),
    openWith: (limits) => openGcpKmsSigner({ keyVersion, client, ...limits }),
    secrets: [],
  });
  for (const check of checks) test(check.name, () => check.run());
});

// Its REST gateway answers errors in another shape than Google's (https://google.aip.dev/193), so that the
// clients see UNKNOWN or the bare HTTP status. Over REST the errors are tested with the fake.
describe.each(CLIENTS.filter(({ transport }) => transport === "grpc"))("its refusals over $label", ({ connect }) => {
  let client: GcpKmsClientLike;
  beforeAll(() => {
    client = connect(emulator);
  });
  afterAll(async () => {
    await client.close();
  });

  test("DISABLED: signing and opening are key_disabled, and work again when it is ENABLED", async () => {
    const name = `${await createKey()}/cryptoKeyVersions/1`;
    await using signer = await openGcpKmsSigner({ keyVersion: name, client });
    await setState(name, "DISABLED");
    const disabled = { code: "key_disabled", message: expect.stringContaining("the version is DISABLED") };
    // It does not say the state when it refuses to sign: the version was asked for.
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject(disabled);
    expect(await rejection(openGcpKmsSigner({ keyVersion: name, client }))).toMatchObject(disabled);
    await setState(name, "ENABLED");
    expect(await signsTruly(signer)).toBe(true);
  });

  test("DESTROY_SCHEDULED: signing and opening are key_disabled", async () => {
    const name = `${await createKey()}/cryptoKeyVersions/1`;
    await using signer = await openGcpKmsSigner({ keyVersion: name, client });
    await admin.destroyCryptoKeyVersion({ name });
    const destroyed = { code: "key_disabled", message: expect.stringContaining("the version is DESTROY_SCHEDULED") };
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject(destroyed);
    expect(await rejection(openGcpKmsSigner({ keyVersion: name, client }))).toMatchObject(destroyed);
  });

  test.each([
    ["EC_SIGN_P384_SHA384", "ASYMMETRIC_SIGN"],
    ["RSA_SIGN_PKCS1_2048_SHA256", "ASYMMETRIC_SIGN"],
    // It refuses GetPublicKey of a symmetric key with FAILED_PRECONDITION: the algorithm was asked for.
    ["GOOGLE_SYMMETRIC_ENCRYPTION", "ENCRYPT_DECRYPT"],
  ] as const)("%s is unsupported_key", async (algorithm, purpose) => {
    const name = `${await createKey(algorithm, purpose)}/cryptoKeyVersions/1`;
    expect(await rejection(openGcpKmsSigner({ keyVersion: name, client }))).toMatchObject({
      code: "unsupported_key",
      message: expect.stringContaining(algorithm),
    });
  });

  test("a version or a key that is not there is key_not_found", async () => {
    const cryptoKey = await createKey();
    for (const name of [`${cryptoKey}/cryptoKeyVersions/9`, `${cryptoKey}-none/cryptoKeyVersions/1`]) {
      expect(await rejection(openGcpKmsSigner({ keyVersion: name, client }))).toMatchObject({
        code: "key_not_found",
      });
    }
  });
});

// The rules that our own main adds to the emulator (https://cloud.google.com/kms/docs/reference/rpc): without
// them a client that breaks a rule would pass here and fail in production.
describe("the emulator is as strict as the service", () => {
  const INVALID_ARGUMENT = { code: 3 };
  const FAILED_PRECONDITION = { code: 9 };
  const once = { retry: null } as const;

  test.each<[string, object]>([
    ["a digest of 31 bytes", { digest: { sha256: Buffer.alloc(31) } }],
    ["a digest of 33 bytes", { digest: { sha256: Buffer.alloc(33) } }],
    ["no digest", {}],
    ["a digest of another algorithm", { digest: { sha384: Buffer.alloc(48) } }],
    ["digest and data together", { digest: { sha256: Buffer.alloc(32) }, data: Buffer.alloc(1) }],
    ["a checksum that is wrong", { digest: { sha256: Buffer.alloc(32) }, digestCrc32c: { value: 1 } }],
    ["a checksum of zero that is wrong", { digest: { sha256: Buffer.alloc(32) }, digestCrc32c: { value: 0 } }],
  ])("%s is INVALID_ARGUMENT", async (_what, request) => {
    const name = `${await createKey()}/cryptoKeyVersions/1`;
    expect(await rejection(admin.asymmetricSign({ name, ...request }, once))).toMatchObject(INVALID_ARGUMENT);
  });

  test("a name without a version is INVALID_ARGUMENT", async () => {
    const name = await createKey();
    const request = { name, digest: { sha256: Buffer.alloc(32) } };
    expect(await rejection(admin.asymmetricSign(request, once))).toMatchObject(INVALID_ARGUMENT);
    expect(await rejection(admin.getPublicKey({ name }, once))).toMatchObject(INVALID_ARGUMENT);
  });

  test("the public key of a version that is not ENABLED is FAILED_PRECONDITION", async () => {
    const name = `${await createKey()}/cryptoKeyVersions/1`;
    await setState(name, "DISABLED");
    expect(await rejection(admin.getPublicKey({ name }, once))).toMatchObject(FAILED_PRECONDITION);
  });

  test("destroying a version twice is FAILED_PRECONDITION", async () => {
    const name = `${await createKey()}/cryptoKeyVersions/1`;
    await admin.destroyCryptoKeyVersion({ name });
    expect(await rejection(admin.destroyCryptoKeyVersion({ name }, once))).toMatchObject(FAILED_PRECONDITION);
  });
});
