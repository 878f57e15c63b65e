import { generateKeyPairSync, sign } from "node:crypto";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError, SignerError } from "@signpost/core";
import { readEndpoint } from "@signpost/core/adapter";
import { awsKms, openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";

const ID = "1234abcd-12ab-34cd-56ef-1234567890ab";
const ARN = `arn:aws:kms:eu-west-1:111122223333:key/${ID}`;
const ALIAS_ARN = "arn:aws:kms:eu-west-1:111122223333:alias/op";
const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwk = pair.publicKey.export({ format: "jwk" });
const KEY = {
  KeyId: ARN,
  PublicKey: pair.publicKey.export({ format: "der", type: "spki" }),
  KeySpec: "ECC_NIST_P256",
  KeyUsage: "SIGN_VERIFY",
  SigningAlgorithms: ["ECDSA_SHA_256"],
};
const refused = Object.assign(new Error("denied"), { name: "AccessDeniedException" });

/** How the connection is made, and with what. */
const state = vi.hoisted(() => ({
  given: [] as unknown[],
  connect: async (): Promise<object> => ({}),
}));
vi.mock("../src/client.ts", async (load) => ({
  ...(await load<typeof import("../src/client.ts")>()),
  connect: (_options: unknown, given: unknown) => {
    state.given.push(given);
    return state.connect();
  },
}));

const api = { getPublicKey: vi.fn<AwsKmsApi["getPublicKey"]>(), sign: vi.fn<AwsKmsApi["sign"]>() };
const close = vi.fn<() => Promise<void>>();
const connection = { api, region: "eu-west-1", endpoint: undefined, notes: ["a note"], close };
beforeEach(() => {
  state.given.length = 0;
  state.connect = async () => connection;
  close.mockReset().mockResolvedValue(undefined);
  api.getPublicKey.mockReset().mockResolvedValue(KEY);
  api.sign.mockReset().mockImplementation(async ({ Message }) => ({
    KeyId: ARN,
    Signature: sign("sha256", Message, pair.privateKey),
    SigningAlgorithm: "ECDSA_SHA_256",
  }));
});
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("the Region of a key", () => {
  test.each([
    [ARN, undefined, "eu-west-1"],
    [ARN, "eu-west-1", "eu-west-1"],
    [ALIAS_ARN, undefined, "eu-west-1"],
    ["alias/op", undefined, undefined],
    ["alias/op", "eu-west-2", "eu-west-2"],
    [ID, "eu-west-2", "eu-west-2"],
  ])("%s with the option %s is %s", async (key, region, expected) => {
    await (await openAwsKmsSigner({ key, region })).close();
    expect(state.given).toEqual([{ endpoint: undefined, allowInsecureEndpoint: false, region: expected }]);
  });

  test("is not another one than that of the option", async () => {
    expect(await rejection(openAwsKmsSigner({ key: ARN, region: "eu-west-2" }))).toMatchObject({
      argument: "region",
      message: "region: expected eu-west-1, the Region in key, got eu-west-2",
    });
    expect(state.given).toEqual([]);
  });
});

describe("a signer", () => {
  const digest = new Uint8Array(32).fill(7);

  test("reads the key by its name, signs by its ARN, and closes its connection", async () => {
    const signer = await openAwsKmsSigner({ key: "alias/op" });
    expect(signer).toMatchObject({ uri: `awskms:///${ARN}`, publicKey: { x: jwk.x, y: jwk.y } });
    expect(signer.health().notes).toEqual(["a note"]);
    expect(await signer.sign(digest)).toHaveLength(64);
    const options = { signal: expect.any(AbortSignal) as AbortSignal };
    expect(api.getPublicKey.mock.calls).toEqual([[{ KeyId: "alias/op" }, options]]);
    const input = { KeyId: ARN, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" };
    expect(api.sign.mock.calls).toEqual([[input, options]]);
    expect(close).not.toHaveBeenCalled();
    await signer.close();
    expect(close).toHaveBeenCalledOnce();
  });

  test("names the call, the key and its ARN in errors", async () => {
    api.getPublicKey.mockRejectedValueOnce(refused);
    expect(await rejection(openAwsKmsSigner({ key: "alias/op" }))).toMatchObject({
      message: expect.stringContaining("kms:GetPublicKey of alias/op in eu-west-1 failed: ") as string,
      uri: "awskms:///alias/op?region=eu-west-1",
    });
    const signer = await openAwsKmsSigner({ key: "alias/op" });
    api.sign.mockRejectedValueOnce(refused);
    expect(await rejection(signer.sign(digest))).toMatchObject({
      message: expect.stringContaining(`kms:Sign of alias/op in eu-west-1 (${ARN}) failed: `) as string,
    });
    await signer.close();
  });

  test("waits for a key that is being created", async () => {
    const creating = Object.assign(new Error("x is creating."), { name: "KMSInvalidStateException" });
    api.getPublicKey.mockRejectedValueOnce(creating);
    await (await openAwsKmsSigner({ key: "alias/op", policy: { maxAttempts: 1 }, openDeadlineMs: 30_000 })).close();
    expect(api.getPublicKey).toHaveBeenCalledTimes(2);
  });

  test.each([ID, "alias/op", ALIAS_ARN])("with a public key needs the ARN of its key, and not %s", async (key) => {
    expect(await rejection(openAwsKmsSigner({ key, publicKey: jwk }))).toMatchObject({
      argument: "key",
      message: `key: expected the key ARN, because with publicKey no call looks it up, got ${key}`,
    });
    expect(state.given).toEqual([]);
  });

  test("with a public key reads none", async () => {
    const signer = await openAwsKmsSigner({ key: ARN, publicKey: jwk });
    expect(await signer.sign(digest)).toHaveLength(64);
    expect(api.getPublicKey).not.toHaveBeenCalled();
    await signer.close();
  });

  test("whose connection cannot be made says for which key", async () => {
    state.connect = () => Promise.reject(new SignerError("timeout", "not opened within 5 ms"));
    const late = await rejection(
      openAwsKmsSigner({ key: "alias/op", region: "eu-west-2", endpoint: "https://kms.internal" }),
    );
    const uri = "awskms://kms.internal/alias/op?region=eu-west-2";
    expect(late).toMatchObject({ code: "timeout", message: `${uri}: not opened within 5 ms`, uri });
    state.connect = () => Promise.reject(new SignerError("aborted", "gone"));
    expect(await rejection(openAwsKmsSigner({ key: ARN }))).toMatchObject({ code: "aborted", uri: `awskms:///${ARN}` });
    const wrong = new ConfigurationError("endpoint", "expected https");
    state.connect = () => Promise.reject(wrong);
    expect(await rejection(openAwsKmsSigner({ key: ARN }))).toMatchObject({ argument: "endpoint" });
  });
});

describe("a key URI is opened", () => {
  const given = async (uri: string, options?: Parameters<typeof awsKms>[0]): Promise<unknown> => {
    await (await awsKms(options).open(uri)).close();
    return state.given.pop();
  };

  test("in its Region, in that of its key, or in that of the adapter", async () => {
    const options = { region: "eu-west-9" };
    expect(await given("awskms:///alias/op?region=eu-west-2", options)).toMatchObject({ region: "eu-west-2" });
    expect(await given(`awskms:///${ARN}`, options)).toMatchObject({ region: "eu-west-1" });
    expect(await given("awskms:///alias/op", options)).toMatchObject({ region: "eu-west-9" });
    expect(await given("awskms:///alias/op")).toMatchObject({ region: undefined });
  });

  test("at its endpoint, or at that of the adapter, which must be the same", async () => {
    const endpoint = readEndpoint("endpoint", "https://kms.internal:8443");
    const options = { endpoint: endpoint.url };
    expect(await given("awskms:///alias/op", options)).toMatchObject({ endpoint });
    expect(await given("awskms://kms.internal:8443/alias/op", options)).toMatchObject({ endpoint });
    expect(await given("awskms://kms.internal:8443/alias/op")).toMatchObject({ endpoint });
    expect(await given("awskms:///alias/op")).toMatchObject({ endpoint: undefined });
    expect(await rejection(awsKms(options).open("awskms://kms.other/alias/op"))).toMatchObject({
      argument: "uri",
      message:
        "uri: expected no host, or the host of the adapter's endpoint, https://kms.internal:8443, got https://kms.other",
    });
  });

  test("with the policy and the signal of the caller", async () => {
    const policy = { maxAttempts: 1 };
    api.getPublicKey.mockRejectedValue(Object.assign(new Error("x"), { name: "KMSInternalException" }));
    expect(await rejection(awsKms().open("awskms:///alias/op", { policy }))).toMatchObject({ code: "unavailable" });
    expect(api.getPublicKey).toHaveBeenCalledOnce();
    const signal = AbortSignal.abort();
    expect(await rejection(awsKms().open("awskms:///alias/op", { signal }))).toMatchObject({ code: "aborted" });
  });
});
