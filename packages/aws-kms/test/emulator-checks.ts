import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import {
  CancelKeyDeletionCommand,
  CreateAliasCommand,
  CreateKeyCommand,
  DisableKeyCommand,
  EnableKeyCommand,
  ScheduleKeyDeletionCommand,
  UpdateAliasCommand,
  type CreateKeyCommandInput,
  type KMSClient,
} from "@aws-sdk/client-kms";
import { compactVerify, importJWK } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, signJws, signWith, type SignerErrorCode } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import type { ImportedKey, KmsEmulator, KmsEmulatorOptions } from "@signpost/test-backends/aws-kms-emulator";
import { clientOf, provideCredentials } from "./environment.ts";

/** Where an emulator does other than AWS KMS. Each row says what AWS documents. */
export interface EmulatorDifferences {
  /**
   * GetPublicKey of a symmetric key. AWS: UnsupportedOperationException, so `unsupported_key`.
   * https://docs.aws.amazon.com/kms/latest/APIReference/API_GetPublicKey.html
   */
  readonly symmetric: SignerErrorCode;
  /**
   * GetPublicKey of a disabled key. AWS lists DisabledException among the errors of the call, so that both an answer
   * and `key_disabled` have to be lived with. https://docs.aws.amazon.com/kms/latest/APIReference/API_GetPublicKey.html
   */
  readonly opensDisabledKey: boolean;
  /**
   * The state after CancelKeyDeletion. AWS: Disabled.
   * https://docs.aws.amazon.com/kms/latest/APIReference/API_CancelKeyDeletion.html
   */
  readonly afterCancelledDeletion: "Disabled" | "Enabled";
  /**
   * Whether a key of another Region is seen. AWS: never, a key exists in one Region.
   * https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html
   */
  readonly seesOtherRegions: boolean;
}

/** The behaviour of keys and aliases, on an emulator that `start` starts. */
export function describeEmulator(
  start: (options: KmsEmulatorOptions) => Promise<KmsEmulator>,
  differences: EmulatorDifferences,
): void {
  const imported: ImportedKey = {
    keyId: randomUUID(),
    privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
  };
  let emulator: KmsEmulator;
  let client: KMSClient;

  beforeAll(async () => {
    emulator = await start({ keys: [imported] });
    client = clientOf(emulator);
    provideCredentials(emulator.credentials);
  });
  afterAll(async () => {
    client.destroy();
    await emulator.stop();
  });

  const open = (keyId: string) =>
    openAwsKmsSigner({
      key: keyId,
      endpoint: emulator.endpoint,
      region: emulator.region,
      policy: { deadlineMs: 30_000 },
    });
  const createKey = async (input: CreateKeyCommandInput = {}): Promise<{ keyId: string; arn: string }> => {
    const created = await client.send(
      new CreateKeyCommand({ KeySpec: "ECC_NIST_P256", KeyUsage: "SIGN_VERIFY", ...input }),
    );
    return { keyId: created.KeyMetadata?.KeyId ?? "", arn: created.KeyMetadata?.Arn ?? "" };
  };
  const createAlias = async (keyId: string): Promise<string> => {
    const alias = `alias/Op/${randomUUID()}`;
    await client.send(new CreateAliasCommand({ AliasName: alias, TargetKeyId: keyId }));
    return alias;
  };

  describe("a key", () => {
    test("opens by id, ARN, alias and alias ARN, and is named by its ARN", async () => {
      const { keyId, arn } = await createKey();
      const alias = await createAlias(keyId);
      for (const name of [keyId, arn, alias, arn.replace(/key\/.*/, alias)]) {
        await using signer = await open(name);
        expect(signer.uri).toBe(`awskms://${new URL(emulator.endpoint).host}/${arn}`);
        await expect(signWith(createKeySet([{ signer }]).active, randomBytes(20))).resolves.toHaveLength(64);
      }
    });

    test("imported by the test gives its own public key", async () => {
      await using signer = await open(imported.keyId);
      expect(signer.uri).toContain(emulator.keyArn(imported.keyId));
      expect(signer.publicKey).toMatchObject({ x: imported.privateKey.export({ format: "jwk" }).x });
    });

    test("signs what jose verifies, a hundred times, with high and low s", async () => {
      await using signer = await open((await createKey()).arn);
      const keys = createKeySet([{ signer }]);
      const publicKey = await importJWK({ ...signer.publicKey, alg: "ES256" });
      const messages = Array.from({ length: 100 }, (_, index) => `message ${index}`);
      const tokens = await Promise.all(messages.map((message) => signJws(keys, message)));
      const payloads = await Promise.all(tokens.map(async (token) => (await compactVerify(token, publicKey)).payload));
      expect(payloads.map((payload) => new TextDecoder().decode(payload))).toEqual(messages);
      const highS = tokens.filter((token) => Buffer.from(token.split(".")[2] ?? "", "base64url").readUInt8(32) >= 0x80);
      expect(highS.length).toBeGreaterThan(10);
      expect(highS.length).toBeLessThan(90);
    });

    test("signs 500 times at once through 64 sockets, each over its own input", async () => {
      const { arn } = await createKey();
      const policy = { concurrency: 64, deadlineMs: 60_000, attemptTimeoutMs: 30_000 };
      await using signer = await openAwsKmsSigner({ key: arn, endpoint: emulator.endpoint, policy });
      const { active } = createKeySet([{ signer }]);
      // signWith verifies each with node:crypto, over the input that it was given.
      const signatures = await Promise.all(Array.from({ length: 500 }, () => signWith(active, randomBytes(40))));
      expect(new Set(signatures.map((signature) => Buffer.from(signature).toString("hex"))).size).toBe(500);
    });

    test("stays the one it was when its alias is pointed elsewhere", async () => {
      const [first, second] = [await createKey(), await createKey()];
      const alias = await createAlias(first.keyId);
      await using signer = await open(alias);
      await client.send(new UpdateAliasCommand({ AliasName: alias, TargetKeyId: second.keyId }));
      await expect(signWith(createKeySet([{ signer }]).active, randomBytes(20))).resolves.toHaveLength(64);
      expect(signer.uri).toContain(first.arn);
      await using later = await open(alias);
      expect(later.uri).toContain(second.arn);
    });

    test.each<[string, CreateKeyCommandInput]>([
      ["P-384", { KeySpec: "ECC_NIST_P384" }],
      ["secp256k1", { KeySpec: "ECC_SECG_P256K1" }],
      ["RSA", { KeySpec: "RSA_2048" }],
      ["RSA for encryption", { KeySpec: "RSA_2048", KeyUsage: "ENCRYPT_DECRYPT" }],
    ])("of %s is refused, saying what was found", async (_what, input) => {
      const { arn } = await createKey(input);
      const found = new RegExp(`found ${input.KeySpec}`);
      await expect(open(arn)).rejects.toMatchObject({ code: "unsupported_key", message: expect.stringMatching(found) });
    });

    test("that is symmetric is refused", async () => {
      const { arn } = await createKey({ KeySpec: "SYMMETRIC_DEFAULT", KeyUsage: "ENCRYPT_DECRYPT" });
      await expect(open(arn)).rejects.toMatchObject({ code: differences.symmetric });
    });

    test.each(["alias/none", randomUUID(), `arn:aws:kms:eu-west-1:111122223333:key/${randomUUID()}`])(
      "that does not exist is key_not_found: %s",
      async (keyId) => {
        await expect(open(keyId)).rejects.toMatchObject({ code: "key_not_found" });
      },
    );

    test("of another Region is not mistaken for one here", async () => {
      const { keyId } = await createKey();
      const opening = openAwsKmsSigner({ key: keyId, endpoint: emulator.endpoint, region: "us-east-1" });
      const outcome = await opening.then(
        () => "opened",
        (error: { code: string }) => error.code,
      );
      expect(outcome).toBe(differences.seesOtherRegions ? "opened" : "key_not_found");
    });
  });

  describe("a key that is taken away while its signer is open", () => {
    test("is key_disabled until it is enabled again", async () => {
      const { arn } = await createKey();
      await using signer = await open(arn);
      await client.send(new DisableKeyCommand({ KeyId: arn }));
      await expect(signer.sign(randomBytes(32))).rejects.toMatchObject({ code: "key_disabled", transient: false });
      expect(signer.health().status).toBe("down");
      const opened = await open(arn).then(
        (second) => second.close().then(() => true),
        (error: { code: string }) => error.code,
      );
      expect(opened).toBe(differences.opensDisabledKey ? true : "key_disabled");
      await client.send(new EnableKeyCommand({ KeyId: arn }));
      await expect(signer.sign(randomBytes(32))).resolves.toHaveLength(64);
      expect(signer.health().status).toBe("ready");
    });

    test("is key_disabled while it waits to be deleted", async () => {
      const { arn } = await createKey();
      await using signer = await open(arn);
      await client.send(new ScheduleKeyDeletionCommand({ KeyId: arn, PendingWindowInDays: 7 }));
      await expect(signer.sign(randomBytes(32))).rejects.toMatchObject({ code: "key_disabled", transient: false });
      await client.send(new CancelKeyDeletionCommand({ KeyId: arn }));
      if (differences.afterCancelledDeletion === "Disabled") {
        await expect(signer.sign(randomBytes(32))).rejects.toMatchObject({ code: "key_disabled" });
        await client.send(new EnableKeyCommand({ KeyId: arn }));
      }
      await expect(signer.sign(randomBytes(32))).resolves.toHaveLength(64);
    });
  });
}
