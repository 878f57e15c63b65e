import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { local, openLocalSigner } from "@signpost/local";

describe("what was given in place of a private key is said, and never a part of it:", () => {
  const EXPECTED = "privateKey: expected a private key as KeyObject, JWK or unencrypted PEM, got";
  test.each<[privateKey: unknown, found: string]>([
    ["hunter2", "a string that is none of these"],
    ["", "an empty string"],
    [31_415_926, "a number"],
    [true, "true"],
    [null, "null"],
    [{}, "an object"],
    [[], "an array"],
  ])("%j is %s", async (privateKey, found) => {
    await expect(openLocalSigner({ privateKey } as object)).rejects.toMatchObject({
      name: "ConfigurationError",
      message: `${EXPECTED} ${found}`,
    });
  });

  test.each([
    [
      "public",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey,
      "expected a private key, got a public key",
    ],
    ["rsa", generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, "expected an EC key on P-256, got rsa"],
    [
      "P-384",
      generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey,
      "expected an EC key on P-256, got ec secp384r1",
    ],
  ])("a key that is %s", async (_kind, privateKey, message) => {
    await expect(openLocalSigner({ privateKey })).rejects.toMatchObject({ message: `privateKey: ${message}` });
  });
});

describe("the adapter's own open", () => {
  test("refuses the URI of another adapter", async () => {
    await expect(local().open("awskms:///alias/op")).rejects.toMatchObject({
      name: "ConfigurationError",
      message: "uri: expected a key URI that starts with local:, got a string",
    });
  });

  test("says why a file cannot be read, without its path", async () => {
    await expect(local().open("local:/nowhere/secret.pem")).rejects.toMatchObject({
      name: "ConfigurationError",
      message: "uri: expected local: followed by the path of a readable PEM file (ENOENT)",
    });
  });

  test.each(["local:", "local:/nowhere/secret.pem"])("of %s ends for a caller who has left", async (uri) => {
    const opening = local().open(uri, { signal: AbortSignal.abort() });
    await expect(opening).rejects.toMatchObject({ name: "SignerError", code: "aborted" });
  });

  test("opens for a caller who has not left", async () => {
    const signer = await local().open("local:", { signal: new AbortController().signal });
    expect(await signer.sign(new Uint8Array(32))).toHaveLength(64);
  });
});
