import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { gcpKms, listGcpKmsKeyVersions, openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";

const CRYPTO_KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
const NAME = `${CRYPTO_KEY}/cryptoKeyVersions/3`;
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });

class Client implements GcpKmsClientLike {
  readonly transport = "a member of its own";
  initialize = async (): Promise<object> => ({ getChannel: () => undefined });
  getPublicKey = async (): Promise<[object]> => [{}];
  asymmetricSign = async (): Promise<[object]> => [{}];
  getCryptoKeyVersion = async (): Promise<[object]> => [{}];
  listCryptoKeyVersions = async (): Promise<[object[]]> => [[]];
  close = async (): Promise<void> => {};
}

/** Options with a public key: nothing is asked for, so that what is not refused opens. */
const good = (): object => ({ keyVersion: NAME, publicKey, client: new Client() });

describe("openGcpKmsSigner refuses", () => {
  test.each<[string, unknown, string]>([
    ["no options", undefined, "options"],
    ["null", null, "options"],
    ["a name alone", NAME, "options"],
    ["a list", [NAME], "options"],
    ["nothing in them", {}, "keyVersion"],
    ["no version", { ...good(), keyVersion: undefined }, "keyVersion"],
    ["a version that is no text", { ...good(), keyVersion: 5 }, "keyVersion"],
    ["the published key id", { ...good(), keyId: NAME }, "keyId"],
    ["a misspelled version", { ...good(), keyversion: NAME }, "keyversion"],
    ["a misspelled deadline", { ...good(), openDeadlineMS: 5 }, "openDeadlineMS"],
    ["a misspelled timeout", { ...good(), callTimeoutms: 5 }, "callTimeoutms"],
    ["a misspelled public key", { ...good(), publickey: publicKey }, "publickey"],
    ["a misspelled policy", { ...good(), policy: { attemptTimeoutMS: 5 } }, "policy.attemptTimeoutMS"],
    ["another cloud's option", { ...good(), region: "europe-west3" }, "region"],
    ["a deadline of NaN", { ...good(), openDeadlineMs: Number.NaN }, "openDeadlineMs"],
    ["a deadline without end", { ...good(), openDeadlineMs: Number.POSITIVE_INFINITY }, "openDeadlineMs"],
    ["a deadline as text", { ...good(), openDeadlineMs: "5" }, "openDeadlineMs"],
    ["a timeout of NaN", { ...good(), callTimeoutMs: Number.NaN }, "callTimeoutMs"],
    ["a timeout without end", { ...good(), callTimeoutMs: Number.POSITIVE_INFINITY }, "callTimeoutMs"],
    ["a timeout as text", { ...good(), callTimeoutMs: "5" }, "callTimeoutMs"],
    ["a timeout of null", { ...good(), callTimeoutMs: null }, "callTimeoutMs"],
    ["a policy of NaN", { ...good(), policy: { deadlineMs: Number.NaN } }, "policy.deadlineMs"],
    ["a policy of null", { ...good(), policy: null }, "policy"],
    ["a policy of true", { ...good(), policy: true }, "policy"],
    ["a signal that is none", { ...good(), signal: "soon" }, "signal"],
    ["an endpoint that is no text", { ...good(), client: undefined, endpoint: 5 }, "endpoint"],
    ["a transport of null", { ...good(), client: undefined, transport: null }, "transport"],
  ])("%s", async (_what, options, argument) => {
    const opening = openGcpKmsSigner(options as never);
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });

  test.each<[string, object]>([
    ["a client of a class", { client: new Client() }],
    ["a client that is a literal", { client: { ...new Client() } }],
    ["an unknown option that is undefined", { client: new Client(), keyId: undefined }],
  ])("nothing of %s", async (_what, options) => {
    const signer = await openGcpKmsSigner({ keyVersion: NAME, publicKey, ...options });
    expect(signer.uri).toBe(`gcpkms://${NAME}`);
    await signer.close();
  });
});

describe("gcpKms refuses, before any URI is opened,", () => {
  test.each<[string, unknown, string]>([
    ["null", null, "options"],
    ["a transport alone", "rest", "options"],
    ["a misspelled transport", { Transport: "rest" }, "Transport"],
    ["a version", { keyVersion: NAME }, "keyVersion"],
    ["a policy", { policy: {} }, "policy"],
    ["a deadline of NaN", { openDeadlineMs: Number.NaN }, "openDeadlineMs"],
    ["a timeout as text", { callTimeoutMs: "5" }, "callTimeoutMs"],
    ["an endpoint in the clear", { endpoint: "http://kms.internal" }, "endpoint"],
    ["a transport that is none", { transport: "http" }, "transport"],
    ["a client that is none", { client: {} }, "client"],
    ["a client and an endpoint", { client: new Client(), endpoint: "https://kms.internal" }, "client"],
  ])("%s", (_what, options, argument) => {
    expect(() => gcpKms(options as never)).toThrow(expect.objectContaining({ name: "ConfigurationError", argument }));
  });

  test.each<[string, unknown, string]>([
    ["a misspelled policy", { polcy: {} }, "polcy"],
    ["a policy of NaN", { policy: { deadlineMs: Number.NaN } }, "policy.deadlineMs"],
    ["a signal that is none", { signal: 5 }, "signal"],
    ["null", null, "options"],
  ])("and its open %s", async (_what, options, argument) => {
    const opening = gcpKms({ client: new Client() }).open(`gcpkms://${NAME}`, options as never);
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });
});

describe("listGcpKmsKeyVersions refuses", () => {
  test.each<[string, unknown, string]>([
    ["null", null, "options"],
    ["a deadline alone", 5000, "options"],
    ["a misspelled deadline", { deadlineMS: 5 }, "deadlineMS"],
    ["the deadline of an opening", { openDeadlineMs: 5 }, "openDeadlineMs"],
    ["a deadline of NaN", { deadlineMs: Number.NaN }, "deadlineMs"],
    ["a deadline without end", { deadlineMs: Number.POSITIVE_INFINITY }, "deadlineMs"],
    ["a deadline as text", { deadlineMs: "5" }, "deadlineMs"],
    ["a deadline of null", { deadlineMs: null }, "deadlineMs"],
    ["a signal that is none", { signal: {} }, "signal"],
    ["a client and a transport", { client: new Client(), transport: "rest" }, "client"],
  ])("%s", async (_what, options, argument) => {
    const listing = listGcpKmsKeyVersions(CRYPTO_KEY, options as never);
    await expect(listing).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });

  test.each([undefined, "", 5, NAME])("the key %s", async (cryptoKey) => {
    const listing = listGcpKmsKeyVersions(cryptoKey as never, { client: new Client() });
    await expect(listing).rejects.toMatchObject({ name: "ConfigurationError", argument: "cryptoKey" });
  });
});
