import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { awsKms, openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";

const ARN = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });

class Transport implements AwsKmsApi {
  readonly region = "a member of its own";
  calls = 0;
  getPublicKey = async (): Promise<object> => ({ calls: (this.calls += 1) });
  sign = async (): Promise<object> => ({ calls: (this.calls += 1) });
}

/** Options with a public key: nothing is asked for, so that what is not refused opens. */
const good = (): object => ({ key: ARN, publicKey, api: new Transport() });

describe("openAwsKmsSigner refuses", () => {
  test.each<[string, unknown, string]>([
    ["no options", undefined, "options"],
    ["null", null, "options"],
    ["a key alone", ARN, "options"],
    ["a list", [ARN], "options"],
    ["nothing in them", {}, "key"],
    ["no key", { ...good(), key: undefined }, "key"],
    ["a key that is no text", { ...good(), key: 5 }, "key"],
    ["the published key id in place of the key", { ...good(), keyId: ARN }, "keyId"],
    ["a misspelled deadline", { ...good(), openDeadlineMS: 5 }, "openDeadlineMS"],
    ["a misspelled public key", { ...good(), publickey: publicKey }, "publickey"],
    ["another Region than that of the key", { ...good(), api: undefined, region: "eu-west-2" }, "region"],
    ["a misspelled region", { ...good(), Region: "eu-west-1" }, "Region"],
    ["a misspelled policy", { ...good(), policy: { attemptTimeoutMS: 5 } }, "policy.attemptTimeoutMS"],
    ["another cloud's option", { ...good(), callTimeoutMs: 5 }, "callTimeoutMs"],
    ["a deadline of NaN", { ...good(), openDeadlineMs: Number.NaN }, "openDeadlineMs"],
    ["a deadline without end", { ...good(), openDeadlineMs: Number.POSITIVE_INFINITY }, "openDeadlineMs"],
    ["a deadline as text", { ...good(), openDeadlineMs: "5" }, "openDeadlineMs"],
    ["a deadline of null", { ...good(), openDeadlineMs: null }, "openDeadlineMs"],
    ["a policy of NaN", { ...good(), policy: { deadlineMs: Number.NaN } }, "policy.deadlineMs"],
    ["a policy of text", { ...good(), policy: { maxAttempts: "5" } }, "policy.maxAttempts"],
    ["a policy of null", { ...good(), policy: null }, "policy"],
    ["a policy of true", { ...good(), policy: true }, "policy"],
    ["a signal that is none", { ...good(), signal: "soon" }, "signal"],
    ["a region that is no text", { ...good(), api: undefined, region: 5 }, "region"],
    ["a region in a list", { ...good(), api: undefined, region: ["eu-west-1"] }, "region"],
    ["an endpoint that is no text", { ...good(), api: undefined, endpoint: 5 }, "endpoint"],
    ["a client of null", { ...good(), api: undefined, client: null }, "client"],
    ["an api of null", { ...good(), api: null }, "api"],
  ])("%s", async (_what, options, argument) => {
    const opening = openAwsKmsSigner(options as never);
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });

  test.each<[string, object]>([
    ["a transport of a class", { api: new Transport() }],
    ["a transport that is a literal", { api: { ...new Transport() } }],
    ["a client", { client: { send: async () => ({}), retries: 3 } }],
    ["an unknown option that is undefined", { api: new Transport(), keyId: undefined }],
  ])("nothing of %s", async (_what, options) => {
    const signer = await openAwsKmsSigner({ key: ARN, publicKey, ...options });
    expect(signer.uri).toBe(`awskms:///${ARN}`);
    await signer.close();
  });
});

describe("awsKms refuses, before any URI is opened,", () => {
  test.each<[string, unknown, string]>([
    ["null", null, "options"],
    ["a region alone", "eu-west-1", "options"],
    ["a misspelled region", { Region: "eu-west-1" }, "Region"],
    ["a key", { key: ARN }, "key"],
    ["a policy", { policy: {} }, "policy"],
    ["a deadline of NaN", { openDeadlineMs: Number.NaN }, "openDeadlineMs"],
    ["a deadline as text", { openDeadlineMs: "5" }, "openDeadlineMs"],
    ["an endpoint in the clear", { endpoint: "http://kms.internal" }, "endpoint"],
    ["a misspelled permission", { allowInsecureEndpoints: true }, "allowInsecureEndpoints"],
    ["a region that is none", { region: "Ireland" }, "region"],
    ["a client that is none", { client: {} }, "client"],
    ["a client and a transport", { client: { send: async () => ({}) }, api: new Transport() }, "api"],
  ])("%s", (_what, options, argument) => {
    expect(() => awsKms(options as never)).toThrow(expect.objectContaining({ name: "ConfigurationError", argument }));
  });

  test.each<[string, unknown, string]>([
    ["a misspelled policy", { polcy: {} }, "polcy"],
    ["a policy of NaN", { policy: { deadlineMs: Number.NaN } }, "policy.deadlineMs"],
    ["a signal that is none", { signal: 5 }, "signal"],
    ["null", null, "options"],
  ])("and its open %s", async (_what, options, argument) => {
    const opening = awsKms({ api: new Transport() }).open(`awskms:///${ARN}`, options as never);
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });
});
