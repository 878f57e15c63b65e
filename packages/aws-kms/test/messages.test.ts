import { randomBytes } from "node:crypto";
import { KMSClient } from "@aws-sdk/client-kms";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openSigner, type SignerErrorCode } from "@signpost/core";
import { awsKms, openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { clientOf, provideCredentials } from "./environment.ts";

const DIGEST = randomBytes(32);
const fake = await startFakeAwsKms();
const key = fake.addKey();
const { endpoint, region } = fake;
const host = `127.0.0.1:${fake.port}`;
fake.pointAlias("alias/op-2026", key);
// Hangs. Requests that arrive after their test has ended take no reply from another one.
const silent = await startFakeAwsKms();
const silentKey = silent.addKey();

beforeAll(() => provideCredentials(fake.credentials));
afterEach(() => fake.reset());
afterAll(() => Promise.all([fake.stop(), silent.stop()]));

function reply(type: string, message: string) {
  return { status: 400, contentType: "application/x-amz-json-1.1", body: JSON.stringify({ __type: type, message }) };
}

describe("an error names the key as it was given, and the Region that was asked:", () => {
  test.each([
    ["alias/none", `kms:GetPublicKey of alias/none in eu-west-1 failed: there is no such key (NotFoundException)`],
    [
      "op-2026",
      "kms:GetPublicKey of op-2026 in eu-west-1 failed: there is no such key (NotFoundException); did you mean alias/op-2026?",
    ],
    [
      "1234abcd-12ab-34cd-56ef-1234567890ab",
      "kms:GetPublicKey of 1234abcd-12ab-34cd-56ef-1234567890ab in eu-west-1 failed: there is no such key (NotFoundException)",
    ],
  ])("%s", async (given, message) => {
    const opening = openAwsKmsSigner({ key: given, region, endpoint });
    await expect(opening).rejects.toMatchObject({
      code: "key_not_found",
      message,
      uri: `awskms://${host}/${given}?region=eu-west-1`,
    });
  });

  test("an ARN, whose URI needs no Region", async () => {
    const arn = key.arn.replace(/key\/.*/, "key/none");
    await expect(openAwsKmsSigner({ key: arn, endpoint })).rejects.toMatchObject({
      message: `kms:GetPublicKey of ${arn} in eu-west-1 failed: there is no such key (NotFoundException)`,
      uri: `awskms://${host}/${arn}`,
    });
  });

  test("the key of a key URI, which the error carries", async () => {
    const uri = `awskms://${host}/alias/none?region=eu-north-1`;
    await expect(openSigner(uri, [awsKms()])).rejects.toMatchObject({
      message: expect.stringContaining("of alias/none in eu-north-1 "),
      uri,
    });
  });

  test.each([
    ["opening", { openDeadlineMs: 50 }],
    ["an attempt of it", { policy: { attemptTimeoutMs: 50, maxAttempts: 1 } }],
  ])("also without an answer: %s", async (_what, bounds) => {
    silent.faults.on("hang");
    const opening = openAwsKmsSigner({ key: "alias/op-2026", region, endpoint: silent.endpoint, ...bounds });
    await expect(opening).rejects.toMatchObject({
      code: "timeout",
      // The guard and the transport have the same limit, and either may be the first to see it. On a busy machine, an attempt has
      // less than the whole opening.
      message: expect.stringMatching(
        /^awskms:\S+\/alias\/op-2026\?region=eu-west-1: .* (?:50|[1-4]?\d) ms$|^kms:GetPublicKey of alias\/op-2026 in eu-west-1 failed: /,
      ) as string,
      uri: `awskms://127.0.0.1:${silent.port}/alias/op-2026?region=eu-west-1`,
    });
  });

  test.each([
    ["a signature", { deadlineMs: 50 }],
    ["an attempt at one", { attemptTimeoutMs: 50, maxAttempts: 1 }],
  ])("also without an answer: %s", async (_what, policy) => {
    // Pinned, and with a separate limit, since the short one would hold for opening too.
    const publicKey = silentKey.publicKey?.export({ format: "jwk" });
    const opened = { key: silentKey.arn, publicKey, endpoint: silent.endpoint, openDeadlineMs: 30_000 };
    const signer = await openAwsKmsSigner({ ...opened, policy });
    onTestFinished(() => signer.close());
    silent.faults.on("hang");
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringMatching(
        new RegExp(`^awskms:\\S+/${silentKey.arn}: .* 50 ms$|^kms:Sign of ${silentKey.arn} in eu-west-1 failed: `),
      ) as string,
    });
  });

  test("the Region of the caller's client, which may be another one than the key's", async () => {
    const client = clientOf(fake, { region: "eu-south-1" });
    fake.replyNext({ type: "NotFoundException" });
    await expect(openAwsKmsSigner({ key: key.arn, client })).rejects.toMatchObject({
      message: `kms:GetPublicKey of ${key.arn} in eu-south-1 failed: there is no such key (NotFoundException)`,
    });
  });

  test("none for a transport of the caller's", async () => {
    const api = { getPublicKey: () => Promise.reject(new Error("made up")), sign: async () => ({}) };
    await expect(openAwsKmsSigner({ key: "alias/x", api })).rejects.toMatchObject({
      message: "kms:GetPublicKey of alias/x failed: the client failed for an unknown reason",
      uri: "awskms:///alias/x",
    });
  });

  test.each<[what: string, type: string, code: SignerErrorCode]>([
    ["a refusal", "AccessDeniedException", "access_denied"],
    ["a disabled key", "DisabledException", "key_disabled"],
    ["an outage", "KMSInternalException", "unavailable"],
  ])("of a signature, in %s", async (_what, type, code) => {
    await using signer = await openAwsKmsSigner({ key: "alias/op-2026", region, endpoint, policy: { maxAttempts: 1 } });
    fake.replyNext({ type });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(
        new RegExp(`^kms:Sign of alias/op-2026 in eu-west-1 \\(${key.arn}\\) failed: .*\\(${type}\\)$`),
      ),
      uri: `awskms://${host}/${key.arn}`,
    });
  });

  test("of a signature names the key itself, to which its alias may point no more", async () => {
    await using signer = await openAwsKmsSigner({ key: "alias/op-2026", region, endpoint, policy: { maxAttempts: 1 } });
    fake.pointAlias("alias/op-2026", fake.addKey());
    fake.setState(key, "Disabled");
    onTestFinished(() => {
      fake.setState(key, "Enabled");
      fake.pointAlias("alias/op-2026", key);
    });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      message: `kms:Sign of alias/op-2026 in eu-west-1 (${key.arn}) failed: the key is disabled (DisabledException)`,
    });
  });

  test.each(["arn", "id"] as const)("of a signature names a key that was given by its %s once", async (by) => {
    const given = by === "arn" ? key.arn : key.arn.slice(key.arn.indexOf("/") + 1);
    await using signer = await openAwsKmsSigner({ key: given, region, endpoint, policy: { maxAttempts: 1 } });
    fake.replyNext({ type: "DisabledException" });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      message: `kms:Sign of ${given} in eu-west-1 failed: the key is disabled (DisabledException)`,
    });
  });

  test.each<[what: string, body: object, code: SignerErrorCode]>([
    ["without a member", {}, "integrity"],
    ["of another key", { KeyId: "x", Signature: "MAYCAQECAQE=" }, "wrong_key"],
    ["of no signature", { KeyId: key.arn, Signature: "MAYC" }, "integrity"],
  ])("of an answer %s", async (_what, body, code) => {
    await using signer = await openAwsKmsSigner({ key: "alias/op-2026", region, endpoint, policy: { maxAttempts: 1 } });
    fake.replyNext({ status: 200, contentType: "application/x-amz-json-1.1", body: JSON.stringify(body) });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`kms:Sign of alias/op-2026 in eu-west-1 (${key.arn})`),
      uri: signer.uri,
    });
  });

  test("of a key of another kind", async () => {
    const p384 = fake.addKey({ keySpec: "ECC_NIST_P384" });
    await expect(openAwsKmsSigner({ key: p384.arn, endpoint })).rejects.toMatchObject({
      code: "unsupported_key",
      message: expect.stringContaining(`kms:GetPublicKey of ${p384.arn} in eu-west-1: expected a KMS key of spec`),
    });
  });
});

describe("a KMSInvalidStateException", () => {
  const state = (words: string) => reply("KMSInvalidStateException", `${key.arn} is ${words}.`);

  test("of a key that is being created is waited for, however many attempts that takes", async () => {
    fake.replyNext(state("creating"), 3);
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, policy: { maxAttempts: 1 } });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("of a key that stays so passes, and says so", async () => {
    fake.replyNext(state("creating"), 100);
    await expect(openAwsKmsSigner({ key: key.arn, endpoint, openDeadlineMs: 1500 })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/failed: the key is still being created \(KMSInvalidStateException\)$/),
    });
  });

  test.each([
    ["pending deletion", "the key is pending deletion"],
    ["pending replica deletion", "the key is pending deletion"],
    ["pending import", "the key has no key material yet (pending import)"],
    ["in a state of its own", "the key's state does not allow this call"],
  ])("of a key that is %s", async (words, text) => {
    fake.replyNext(state(words), 20);
    await expect(openAwsKmsSigner({ key: key.arn, endpoint })).rejects.toMatchObject({
      code: "key_disabled",
      transient: false,
      message: `kms:GetPublicKey of ${key.arn} in eu-west-1 failed: ${text} (KMSInvalidStateException)`,
    });
    expect(fake.requests).toHaveLength(1);
  });
});

describe("a KMSClient without a Region", () => {
  test.each([
    [key.arn, "client: expected a KMSClient with a Region, which is eu-west-1 for this key"],
    ["alias/op-2026", "client: expected a KMSClient with a Region, such as eu-west-1"],
  ])("is refused for %s before anything is sent", async (given, message) => {
    const client = new KMSClient({ endpoint, credentials: fake.credentials, maxAttempts: 1 });
    await expect(openAwsKmsSigner({ key: given, client })).rejects.toMatchObject({
      name: "ConfigurationError",
      argument: "client",
      message,
    });
    expect(fake.requests).toEqual([]);
  });
});
