import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readPublicKey, readSignature } from "../src/answers.ts";
import { apiFromClient, type AwsKmsCommands } from "../src/api.ts";
import { describeCall, isBeingCreated, signerErrorFrom } from "../src/errors.ts";

const ARN = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const OTHER = ARN.replace("1234abcd", "1234abce");
const TARGET = { key: "alias/op", region: "eu-west-1" };
const READ = "kms:GetPublicKey of alias/op in eu-west-1";
const SIGN = "kms:Sign of alias/op in eu-west-1";
const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const PublicKey = pair.publicKey.export({ format: "der", type: "spki" });
const KEY = {
  KeyId: ARN,
  PublicKey,
  KeySpec: "ECC_NIST_P256",
  KeyUsage: "SIGN_VERIFY",
  SigningAlgorithms: ["ECDSA_SHA_256"],
};
const Signature = sign("sha256", new Uint8Array(32), pair.privateKey);

describe("the key in an answer", () => {
  const read = (answer: object, key = "alias/op"): unknown => readPublicKey(answer, { ...TARGET, key });

  test("is named by its ARN", () => {
    const { x, y } = pair.publicKey.export({ format: "jwk" });
    expect(read(KEY)).toEqual({ name: ARN, publicKey: { kty: "EC", crv: "P-256", x, y } });
    expect(read({ ...KEY, SigningAlgorithms: ["ECDSA_SHA_512", "ECDSA_SHA_256"] }, ARN)).toMatchObject({ name: ARN });
  });

  const unsupported = "expected a KMS key of spec ECC_NIST_P256, usage SIGN_VERIFY and algorithm ECDSA_SHA_256, found ";
  test.each<[changes: object, code: string, text: string]>([
    [{ KeyId: undefined }, "integrity", `${READ} was answered without KeyId`],
    [{ KeyId: 7 }, "integrity", `${READ} was answered without KeyId`],
    [{ PublicKey: undefined }, "integrity", `${READ} was answered without PublicKey`],
    [{ PublicKey: "AAAA" }, "integrity", `${READ}: PublicKey in the answer is not bytes`],
    [{ KeyId: "alias/other" }, "wrong_key", `${READ} returned the public key of another key`],
    [{ KeySpec: "RSA_2048" }, "unsupported_key", `${READ}: ${unsupported}RSA_2048, SIGN_VERIFY, ECDSA_SHA_256`],
    [
      { KeyUsage: "KEY_AGREEMENT" },
      "unsupported_key",
      `${READ}: ${unsupported}ECC_NIST_P256, KEY_AGREEMENT, ECDSA_SHA_256`,
    ],
    [{ SigningAlgorithms: [] }, "unsupported_key", `${READ}: ${unsupported}ECC_NIST_P256, SIGN_VERIFY`],
    [{ SigningAlgorithms: "ECDSA_SHA_256" }, "unsupported_key", `${READ}: ${unsupported}ECC_NIST_P256, SIGN_VERIFY`],
    [
      { KeySpec: undefined, KeyUsage: 7, SigningAlgorithms: undefined },
      "unsupported_key",
      `${READ}: ${unsupported}none of these`,
    ],
  ])("is refused with %j", (changes, code, message) => {
    expect(() => read({ ...KEY, ...changes })).toThrow(expect.objectContaining({ code, message }));
  });

  test("of another ARN is named, and is missing in nothing", () => {
    const message = `kms:GetPublicKey of ${ARN} in eu-west-1 returned the public key of another key, ${OTHER}`;
    expect(() => read({ ...KEY, KeyId: OTHER }, ARN)).toThrow(expect.objectContaining({ code: "wrong_key", message }));
    for (const answer of [null, undefined, "key"]) {
      expect(() => read(answer as never)).toThrow(`${READ} was answered without any member`);
    }
  });
});

describe("the signature in an answer", () => {
  test("has 64 bytes", () => {
    expect(readSignature({ KeyId: ARN, Signature }, ARN, TARGET)).toHaveLength(64);
    const named = { KeyId: ARN, Signature, SigningAlgorithm: "ECDSA_SHA_256" };
    expect(readSignature(named, ARN, TARGET)).toHaveLength(64);
  });

  test.each<[changes: object, code: string, message: string]>([
    [{ KeyId: undefined }, "integrity", `${SIGN} was answered without KeyId`],
    [{ Signature: undefined }, "integrity", `${SIGN} was answered without Signature`],
    [{ Signature: "AAAA" }, "integrity", `${SIGN}: Signature in the answer is not bytes`],
    [{ KeyId: OTHER }, "wrong_key", `${SIGN} returned the signature of another key, ${OTHER}, expected ${ARN}`],
    [{ KeyId: "x" }, "wrong_key", `${SIGN} returned the signature of another key, expected ${ARN}`],
    [
      { SigningAlgorithm: "ECDSA_SHA_512" },
      "integrity",
      `${SIGN} returned a signature for another algorithm, expected ECDSA_SHA_256`,
    ],
  ])("is refused with %j", (changes, code, message) => {
    expect(() => readSignature({ KeyId: ARN, Signature, ...changes }, ARN, TARGET)).toThrow(
      expect.objectContaining({ code, message }),
    );
  });
});

describe("a call in a message", () => {
  test.each([
    [{ key: "alias/op", region: "eu-west-1" }, "kms:Sign of alias/op in eu-west-1"],
    [{ key: "alias/op", region: undefined }, "kms:Sign of alias/op"],
    [{ key: "alias/op", region: undefined, keyArn: ARN }, `kms:Sign of alias/op (${ARN})`],
    [{ key: ARN, region: "eu-west-1", keyArn: ARN }, `kms:Sign of ${ARN} in eu-west-1`],
    [{ key: ARN.slice(-36), region: undefined, keyArn: ARN }, `kms:Sign of ${ARN.slice(-36)}`],
    [{ key: "arn", region: undefined, keyArn: ARN }, `kms:Sign of arn (${ARN})`],
  ])("is named by %j", (target, text) => {
    expect(describeCall("kms:Sign", target)).toBe(text);
  });

  test("has a hint where a key id can only be an alias", () => {
    const missing = { name: "NotFoundException", message: "x" };
    const message = (key: string, error: object = missing): string =>
      signerErrorFrom(error, "kms:Sign", { key, region: undefined }).message;
    expect(message("op")).toBe(
      "kms:Sign of op failed: there is no such key (NotFoundException); did you mean alias/op?",
    );
    expect(message("alias/op")).not.toContain("did you mean");
    expect(message("op", { name: "DisabledException" })).toBe(
      "kms:Sign of op failed: the key is disabled (DisabledException)",
    );
    expect(message("op", { name: "SomethingNew" })).toBe(
      "kms:Sign of op failed: the client failed for an unknown reason",
    );
  });

  test("says whether the key is still being created", () => {
    const state = (message: string): boolean =>
      isBeingCreated(
        signerErrorFrom(Object.assign(new Error(message), { name: "KMSInvalidStateException" }), "kms:Sign", TARGET),
      );
    expect([state("x is creating."), state("x is pending deletion.")]).toEqual([true, false]);
    const away = Object.assign(new Error("x"), { name: "KMSInternalException" });
    expect(isBeingCreated(signerErrorFrom(away, "kms:Sign", TARGET))).toBe(false);
  });
});

test("a client of the SDK gets the signal of a call, if there is one", async () => {
  class Command {
    readonly input: unknown;
    constructor(input: unknown) {
      this.input = input;
    }
  }
  const commands = { GetPublicKeyCommand: Command, SignCommand: Command } as unknown as AwsKmsCommands;
  const sent: unknown[] = [];
  const client = { send: async (command: Command, options: unknown) => void sent.push([command.input, options]) };
  const api = apiFromClient(client, commands);
  const { signal } = new AbortController();
  await api.getPublicKey({ KeyId: "alias/op" }, { signal });
  await api.getPublicKey({ KeyId: "alias/op" }, {});
  expect(sent).toEqual([
    [{ KeyId: "alias/op" }, { abortSignal: signal }],
    [{ KeyId: "alias/op" }, {}],
  ]);
});
