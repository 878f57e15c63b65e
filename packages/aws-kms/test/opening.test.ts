import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";
import { OPENING_CASES, type Answer, type OpeningHarness } from "@signpost/test-backends/opening-cases";

const ARN = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const KEY = {
  KeyId: ARN,
  PublicKey: publicKey.export({ format: "der", type: "spki" }),
  KeySpec: "ECC_NIST_P256",
  KeyUsage: "SIGN_VERIFY",
  SigningAlgorithms: ["ECDSA_SHA_256"],
};

/** A transport without a network: it answers in the words of the table, and hears no signal. */
async function answered<Output>(answer: Answer, whole: Output): Promise<Output> {
  if (answer === "silence") return new Promise<never>(() => {});
  if (answer === "outage") throw Object.assign(new Error("made up"), { name: "KMSInternalException" });
  if (answer === "refusal") throw Object.assign(new Error("made up"), { name: "AccessDeniedException" });
  return answer === "incomplete" ? { ...whole, KeyId: undefined } : whole;
}

const harness: OpeningHarness = {
  connect: (next) => {
    const api: AwsKmsApi = {
      getPublicKey: () => answered(next("readKey"), KEY),
      sign: ({ Message }) => answered(next("sign"), { KeyId: ARN, Signature: sign("sha256", Message, privateKey) }),
    };
    return { open: (options) => openAwsKmsSigner({ key: ARN, api, ...options }) };
  },
};

describe("opening", () => {
  test.each(OPENING_CASES)("$name", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
});
