import { generateKeyPairSync, randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, createLimiter, openSigner, signWith, type SignerError } from "@signpost/core";
import { awsKms, openAwsKmsSigner, type AwsKmsSignerOptions } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { clientOf, provideCredentials } from "./environment.ts";

const fake = await startFakeAwsKms();
const key = fake.addKey({ keyId: "mrk-1234abcd12ab34cd56ef1234567890ab" });
const publicJwk = key.publicKey?.export({ format: "jwk" }) ?? {};
const { endpoint, region } = fake;
const DIGEST = randomBytes(32);
const TYPE = "application/x-amz-json-1.1";
fake.pointAlias("alias/Op/2026", key);

beforeAll(() => provideCredentials(fake.credentials));
afterEach(() => fake.reset());
afterAll(() => fake.stop());

describe("opening", () => {
  test.each([
    ["a key id", key.keyId],
    ["a key ARN", key.arn],
    ["an alias, in its case", "alias/Op/2026"],
    ["an alias ARN", key.arn.replace(/key\/.*/, "alias/Op/2026")],
  ])("by %s asks once for the public key, by that name, and names the ARN", async (_what, keyId) => {
    await using signer = await openAwsKmsSigner({ key: keyId, endpoint, region });
    expect(fake.requests).toMatchObject([{ operation: "GetPublicKey", keyId, region }]);
    expect(signer.uri).toBe(`awskms://127.0.0.1:${fake.port}/${key.arn}`);
    expect(signer.publicKey).toEqual({ kty: "EC", crv: "P-256", x: publicJwk.x, y: publicJwk.y });
  });

  test("by its own canonical URI opens the same key", async () => {
    await using first = await openAwsKmsSigner({ key: "alias/Op/2026", endpoint, region });
    await using second = await openSigner(first.uri, [awsKms()]);
    expect(second.uri).toBe(first.uri);
    expect(second.publicKey).toEqual(first.publicKey);
  });

  test("by URI takes Region and endpoint from it", async () => {
    await using signer = await openSigner(`awskms://127.0.0.1:${fake.port}/alias/Op/2026?region=${region}`, [awsKms()]);
    expect(signer.uri).toContain(key.arn);
    expect(fake.requests).toMatchObject([{ keyId: "alias/Op/2026", region }]);
  });

  test("by URI takes the adapter's Region only for a key that names none", async () => {
    const adapter = awsKms({ region: "eu-south-1", endpoint });
    for (const uri of [
      `awskms:///${key.arn}`,
      "awskms:///alias/Op/2026",
      "awskms:///alias/Op/2026?region=eu-north-1",
    ]) {
      await (await openSigner(uri, [adapter])).close();
    }
    expect(fake.requests.map((request) => request.region)).toEqual([region, "eu-south-1", "eu-north-1"]);
  });

  test("by its own canonical URI works with the adapter that has the endpoint, and with no other endpoint", async () => {
    await using first = await openSigner(`awskms:///${key.arn}`, [awsKms({ endpoint })]);
    await using second = await openSigner(first.uri, [awsKms({ endpoint: `${endpoint}/` })]);
    expect(second.uri).toBe(first.uri);
    const elsewhere = openSigner(first.uri, [awsKms({ endpoint: "https://kms.internal" })]);
    await expect(elsewhere).rejects.toMatchObject({ argument: "uri" });
  });

  test("takes the Region from an ARN, else from AWS_REGION", async () => {
    await (await openAwsKmsSigner({ key: key.arn, endpoint })).close();
    process.env["AWS_REGION"] = "eu-north-1";
    await (await openAwsKmsSigner({ key: key.keyId, endpoint })).close();
    delete process.env["AWS_REGION"];
    expect(fake.requests.map((request) => request.region)).toEqual([region, "eu-north-1"]);
  });

  test("without any Region is refused before anything is sent", async () => {
    await expect(openAwsKmsSigner({ key: key.keyId, endpoint })).rejects.toMatchObject({ argument: "region" });
    expect(fake.requests).toEqual([]);
  });

  test.each<[string, Parameters<typeof fake.addKey>[0], SignerError["code"], RegExp]>([
    ["on P-384", { keySpec: "ECC_NIST_P384" }, "unsupported_key", /found ECC_NIST_P384, SIGN_VERIFY, ECDSA_SHA_384/],
    ["on secp256k1", { keySpec: "ECC_SECG_P256K1" }, "unsupported_key", /found ECC_SECG_P256K1/],
    ["of RSA", { keySpec: "RSA_2048" }, "unsupported_key", /found RSA_2048/],
    ["for key agreement", { keyUsage: "KEY_AGREEMENT" }, "unsupported_key", /found ECC_NIST_P256, KEY_AGREEMENT/],
    ["that is symmetric", { keySpec: "SYMMETRIC_DEFAULT" }, "unsupported_key", /UnsupportedOperationException/],
  ])("a key %s is refused, saying what was found", async (_what, options, code, message) => {
    const opening = openAwsKmsSigner({ key: fake.addKey(options).arn, endpoint });
    await expect(opening).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  const answer = {
    KeyId: key.arn,
    PublicKey: key.publicKey?.export({ format: "der", type: "spki" }).toString("base64"),
    KeySpec: "ECC_NIST_P256",
    KeyUsage: "SIGN_VERIFY",
    SigningAlgorithms: ["ECDSA_SHA_256"],
  };
  const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ format: "der", type: "spki" });
  test.each<[string, object, SignerError["code"]]>([
    ["PublicKey", { PublicKey: undefined }, "integrity"],
    ["KeyId", { KeyId: undefined }, "integrity"],
    ["KeySpec", { KeySpec: undefined }, "unsupported_key"],
    ["SigningAlgorithms", { SigningAlgorithms: undefined }, "unsupported_key"],
    ["a PublicKey of bytes", { PublicKey: 5 }, "integrity"],
    ["a whole PublicKey", { PublicKey: answer.PublicKey?.slice(0, 40) }, "integrity"],
    ["a PublicKey on P-256", { PublicKey: p384.toString("base64") }, "unsupported_key"],
    ["the key that was asked for", { KeyId: key.arn.replace("mrk-1", "mrk-2") }, "wrong_key"],
    ["a key ARN", { KeyId: key.arn.replace(/key\/.*/, "alias/Op/2026") }, "wrong_key"],
  ])("an answer without %s is %s", async (_what, changes, code) => {
    fake.replyNext({ status: 200, contentType: TYPE, body: JSON.stringify({ ...answer, ...changes }) }, 3);
    await expect(openAwsKmsSigner({ key: key.keyId, region, endpoint })).rejects.toMatchObject({ code });
  });

  test.each<[string, Partial<AwsKmsSignerOptions>]>([
    ["the policy's deadline", { policy: { deadlineMs: 200 } }],
    ["its own deadline", { openDeadlineMs: 200 }],
  ])("does not wait for KMS longer than %s", async (_what, options) => {
    fake.faults.on("hang");
    await expect(openAwsKmsSigner({ key: key.arn, endpoint, ...options })).rejects.toMatchObject({ code: "timeout" });
  });
});

describe("a key for good", () => {
  test("an alias that is pointed elsewhere later changes nothing", async () => {
    fake.pointAlias("alias/moving", key);
    await using signer = await openAwsKmsSigner({ key: "alias/moving", endpoint, region });
    fake.pointAlias("alias/moving", fake.addKey());
    fake.reset();
    await signWith(createKeySet([{ signer }]).active, randomBytes(20));
    expect(fake.requests).toMatchObject([{ operation: "Sign", keyId: key.arn, messageType: "DIGEST" }]);
  });

  test("a signature of another key is wrong_key, whatever its owner is called", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    fake.faults.next("wrong-key");
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      code: "wrong_key",
      message: expect.stringMatching(
        new RegExp(`returned the signature of another key, arn:.*, expected ${key.arn}$`),
      ) as unknown,
    });
  });

  test.each<[string, object, SignerError["code"]]>([
    ["the bare key id", { KeyId: key.keyId }, "wrong_key"],
    ["an alias ARN", { KeyId: key.arn.replace(/key\/.*/, "alias/Op/2026") }, "wrong_key"],
    ["the replica in another Region", { KeyId: key.arn.replace(region, "eu-central-1") }, "wrong_key"],
    ["the same id in another account", { KeyId: key.arn.replace(/:\d{12}:/, ":999999999999:") }, "wrong_key"],
    ["the same id in another partition", { KeyId: key.arn.replace("arn:aws:", "arn:aws-cn:") }, "wrong_key"],
    ["the ARN in another case", { KeyId: key.arn.toUpperCase() }, "wrong_key"],
    ["nothing", { KeyId: "" }, "wrong_key"],
    ["another signing algorithm", { SigningAlgorithm: "ECDSA_SHA_384" }, "integrity"],
  ])("a good signature in the name of %s is refused", async (_what, changes, code) => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    const body = { KeyId: key.arn, Signature: Buffer.from(key.sign(DIGEST)).toString("base64"), ...changes };
    fake.reset();
    fake.replyNext({ status: 200, contentType: TYPE, body: JSON.stringify(body) });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code, transient: false });
    expect(fake.requests).toHaveLength(1);
  });

  test("a public key that is not the key's is never published with a good signature", async () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey: other });
    const { active } = createKeySet([{ signer }]);
    await expect(signWith(active, DIGEST)).rejects.toMatchObject({ code: "bad_signature" });
    expect(signer.health()).toMatchObject({ status: "down", lastCode: "bad_signature" });
  });
});

describe("with the public key given", () => {
  const pem = String(key.publicKey?.export({ format: "pem", type: "spki" }));
  test.each<[string, AwsKmsSignerOptions["publicKey"]]>([
    ["a JWK", publicJwk],
    ["PEM", pem],
  ])("as %s, opening makes no call, and works while KMS is away", async (_what, publicKey) => {
    await fake.goAway();
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey, policy: { deadlineMs: 300 } });
    expect(signer.publicKey).toEqual({ kty: "EC", crv: "P-256", x: publicJwk.x, y: publicJwk.y });
    expect(signer.health().notes).toEqual(["the public key was given, not fetched"]);
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ transient: true });
    await fake.comeBack();
    expect(fake.requests).toEqual([]);
    await expect(signWith(createKeySet([{ signer }]).active, DIGEST)).resolves.toHaveLength(64);
    expect(fake.requests).toMatchObject([{ operation: "Sign", keyId: key.arn }]);
  });

  test("nothing is opened for a caller that has given up", async () => {
    const reason = new Error("shutting down");
    const opening = openAwsKmsSigner({
      key: key.arn,
      endpoint,
      publicKey: publicJwk,
      signal: AbortSignal.abort(reason),
    });
    await expect(opening).rejects.toMatchObject({ code: "aborted", cause: reason });
  });

  test.each(["alias/Op/2026", key.keyId, key.arn.replace(/key\/.*/, "alias/Op/2026")])(
    "the key ARN is needed: %s is refused",
    async (keyId) => {
      const opening = openAwsKmsSigner({ key: keyId, endpoint, region, publicKey: publicJwk });
      await expect(opening).rejects.toMatchObject({ argument: "key", message: expect.stringContaining("key ARN") });
    },
  );

  const p384Jwk = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ format: "jwk" });
  test.each<[string, unknown, string]>([
    ["no key", "x", "invalid_spki"],
    ["half a key", { kty: "EC", crv: "P-256", x: publicJwk.x }, "invalid_jwk"],
    ["on another curve", p384Jwk, "unsupported_key"],
  ])("one that is %s is refused", async (_what, publicKey, code) => {
    const options = { key: key.arn, endpoint, publicKey } as AwsKmsSignerOptions;
    await expect(openAwsKmsSigner(options)).rejects.toMatchObject({ code });
  });
});

describe("options that do not fit", () => {
  const client = clientOf(fake);
  const api = { getPublicKey: async () => ({}), sign: async () => ({}) };
  test.each<[string, Partial<AwsKmsSignerOptions>]>([
    ["key", { key: "" }],
    ["key", { key: "key/1" }],
    ["key", { key: undefined as never }],
    ["region", { region: "eu-west-2" }],
    ["region", { region: "Ireland" }],
    ["endpoint", { endpoint: "http://kms.internal" }],
    ["allowInsecureEndpoint", { allowInsecureEndpoint: "yes" as never }],
    ["allowInsecureEndpoint", { client, allowInsecureEndpoint: true }],
    ["endpoint", { endpoint: "https://kms.internal/path" }],
    ["endpoint", { endpoint: "https://user@kms.internal" }],
    ["endpoint", { endpoint: "kms.internal" }],
    ["endpoint", { client, endpoint }],
    ["region", { client, region }],
    ["api", { client, api }],
    ["endpoint", { api, endpoint }],
    ["client", { client: {} as never }],
    ["api", { api: {} as never }],
    ["api", { api: { sign: api.sign } as never }],
    ["openDeadlineMs", { openDeadlineMs: 0 }],
    ["openDeadlineMs", { openDeadlineMs: 2 ** 31 }],
    ["policy.deadlineMs", { policy: { deadlineMs: 0 } }],
    ["policy.attemptTimeoutMs", { policy: { attemptTimeoutMs: Number.NaN } }],
    ["policy.maxAttempts", { policy: { maxAttempts: 0 } }],
    ["policy.limiter", { policy: { limiter: createLimiter({ concurrency: 1, maxQueue: 1 }), concurrency: 2 } }],
  ])("are refused by the name of %s", async (argument, options) => {
    const opening = openAwsKmsSigner({
      key: key.arn,
      ...(options.client || options.api ? {} : { endpoint }),
      ...options,
    });
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });
});
