import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  creationTimeOf,
  publicKeyOf,
  readKey,
  readSignature,
  refusalOf,
  versionNumbers,
  type TransitKey,
} from "../src/answers.ts";

const CALL = "read transit/keys/op at https://vault.example";
const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = publicKey.export({ type: "spki", format: "pem" });
const data = {
  type: "ecdsa-p256",
  keys: { "3": { public_key: pem, creation_time: "2026-01-02T03:04:05.678Z" }, "10": {}, "2": {} },
  latest_version: 10,
  min_available_version: 1,
  min_decryption_version: 2,
  min_encryption_version: 3,
};
const read = (changes: object = {}): TransitKey => readKey({ ...data, ...changes }, CALL);

describe("a key in an answer", () => {
  test("has its counts, and says what it is", () => {
    expect(read()).toMatchObject({
      latestVersion: 10,
      minAvailableVersion: 1,
      minDecryptionVersion: 2,
      minEncryptionVersion: 3,
      softDeleted: false,
      imported: false,
      notes: [],
    });
    expect(read({ soft_deleted: true, imported_key: true })).toMatchObject({ softDeleted: true, imported: true });
    expect(read({ soft_deleted: "true", imported_key: 1 })).toMatchObject({ softDeleted: false, imported: false });
    expect(read({ min_available_version: 0 }).minAvailableVersion).toBe(0);
  });

  test.each<[changes: object, member: string]>([
    [{ type: undefined }, "type"],
    [{ keys: undefined }, "keys"],
    [{ keys: null }, "keys"],
    [{ keys: "1" }, "keys"],
    [{ latest_version: undefined }, "latest_version"],
    [{ latest_version: "1" }, "latest_version"],
    [{ latest_version: 1.5 }, "latest_version"],
    [{ min_available_version: -1 }, "min_available_version"],
    [{ min_decryption_version: 2 ** 53 }, "min_decryption_version"],
    [{ min_encryption_version: null }, "min_encryption_version"],
  ])("with %j is incomplete", (changes, member) => {
    expect(() => read(changes)).toThrow(
      expect.objectContaining({ code: "integrity", message: `${CALL} was answered without ${member}` }),
    );
  });

  test.each([undefined, null, "data"])("is missing in %j", (answer) => {
    expect(() => readKey(answer, CALL)).toThrow(`${CALL} was answered without data`);
    expect(() => readSignature(answer, 1, CALL)).toThrow(`${CALL} was answered without data`);
  });

  test.each<[changes: object, notes: readonly RegExp[]]>([
    [{ exportable: true }, [/^exportable: .* export\/, and this cannot be undone$/]],
    [{ allow_plaintext_backup: true }, [/^allow_plaintext_backup: .* backup\/, and this cannot be undone$/]],
    [{ deletion_allowed: true }, [/^deletion_allowed: one call can delete the key/]],
    [{ imported_key: true }, [/^imported_key: the key was made outside the server/]],
    [{ exportable: "true", deletion_allowed: 1 }, []],
    [{ auto_rotate_period: 3600 }, [/^auto_rotate_period 3600: the server makes new versions by itself/]],
    [{ auto_rotate_period: "24h0m0s" }, [/^auto_rotate_period 24h0m0s: /]],
    [{ auto_rotate_period: "x".repeat(10) }, [/^auto_rotate_period \(not a duration\): /]],
    [{ auto_rotate_period: "1".repeat(32) }, [/^auto_rotate_period 1{32}: /]],
    [{ auto_rotate_period: "1".repeat(33) }, [/^auto_rotate_period \(not a duration\): /]],
    [{ auto_rotate_period: 0 }, []],
    [{ auto_rotate_period: "0s" }, []],
    [{ auto_rotate_period: "" }, []],
    [{ auto_rotate_period: true }, []],
    [{ exportable: true, auto_rotate_period: "1h" }, [/^exportable/, /^auto_rotate_period/]],
  ])("with %j gives the operator these notes", (changes, notes) => {
    const found = read(changes).notes;
    expect(found).toHaveLength(notes.length);
    for (const [index, note] of notes.entries()) expect(found[index]).toMatch(note);
  });
});

describe("a version", () => {
  test.each<[changes: object, version: number, code: string | undefined, text?: string]>([
    [{}, 10, undefined],
    [{}, 3, undefined],
    [{}, 11, "key_not_found", "there is no version 11; the latest is 10"],
    [{}, 2, "key_disabled", "version 2 is below min_encryption_version, 3"],
    [{}, 1, "key_disabled", "version 1 is below min_decryption_version, 2"],
    [{ min_available_version: 5 }, 4, "key_not_found", "version 4 is below min_available_version, 5"],
    [{ min_available_version: 5 }, 5, undefined],
    [{ min_decryption_version: 4 }, 4, undefined],
    [{ soft_deleted: true }, 10, "key_disabled", "the key is soft-deleted"],
    [{ type: "rsa-2048" }, 10, "unsupported_key", "the key has the type rsa-2048, expected ecdsa-p256"],
    [{ type: "a".repeat(64) }, 10, "unsupported_key", `the key has the type ${"a".repeat(64)}, expected ecdsa-p256`],
    [{ type: "a".repeat(65) }, 10, "unsupported_key", "the key has the type (not a type), expected ecdsa-p256"],
    [{ type: "<b>" }, 10, "unsupported_key", "the key has the type (not a type), expected ecdsa-p256"],
  ])("of a key with %j: %i is refused as %s", (changes, version, code, text) => {
    const refusal = refusalOf(read(changes), version, CALL);
    expect(refusal?.code).toBe(code);
    if (text !== undefined) expect(refusal).toMatchObject({ message: `${CALL}: ${text}`, transient: false });
  });

  test("has a number, a public key and a time", () => {
    expect(versionNumbers(read())).toEqual([2, 3, 10]);
    const strange = { "0": {}, "01": {}, "1": {}, x: {}, "12345678901": {}, "1234567890": {} };
    expect(versionNumbers(read({ keys: strange }))).toEqual([1, 1_234_567_890]);
    expect(publicKeyOf(read(), 3, CALL)).toEqual({
      kty: "EC",
      crv: "P-256",
      x: expect.any(String),
      y: expect.any(String),
    });
    expect(creationTimeOf(read(), 3, CALL).toISOString()).toBe("2026-01-02T03:04:05.678Z");
  });

  test.each([{}, { public_key: "", creation_time: 5 }, { public_key: 7, creation_time: "soon" }])(
    "without what %j lacks is incomplete",
    (version) => {
      const key = read({ keys: { "3": version } });
      expect(() => publicKeyOf(key, 3, CALL)).toThrow(`${CALL} was answered without public_key`);
      expect(() => creationTimeOf(key, 3, CALL)).toThrow(`${CALL} was answered without creation_time`);
    },
  );
});

describe("a signature", () => {
  // The DER of r = 1, s = 1.
  const DER = "MAYCAQECAQE=";
  test.each([1, 1_234_567_890])("of version %i is read", (version) => {
    const signature = readSignature({ key_version: version, signature: `vault:v${version}:${DER}` }, version, CALL);
    expect(Buffer.from(signature).toString("hex")).toBe(`${"0".repeat(63)}1${"0".repeat(63)}1`);
  });

  test.each<[answer: object, code: string, text: string]>([
    [{ key_version: 1 }, "integrity", "was answered without signature"],
    [{ key_version: 1, signature: "" }, "integrity", "was answered without signature"],
    [{ signature: `vault:v1:${DER}` }, "integrity", "was answered without key_version"],
    [{ key_version: 1, signature: `vault:v01:${DER}` }, "integrity", ": the signature has an unknown form"],
    [{ key_version: 1, signature: `vault:v1:${DER}==` }, "integrity", ": the signature has an unknown form"],
    [{ key_version: 1, signature: `:v1:${DER}` }, "integrity", ": the signature has an unknown form"],
    [{ key_version: 1, signature: "vault:v1:MAYCAQECAQE" }, "integrity", ": the signature is not base64"],
    [{ key_version: 1, signature: "vault:v1:MAYCAQECAQF=" }, "integrity", ": the signature is not base64"],
    [{ key_version: 2, signature: `vault:v1:${DER}` }, "wrong_key", ": version 2 signed, expected version 1"],
    [{ key_version: 1, signature: `vault:v2:${DER}` }, "wrong_key", ": version 2 signed, expected version 1"],
    [{ key_version: "1", signature: `vault:v1:${DER}` }, "wrong_key", ": no version signed, expected version 1"],
  ])("in %j is refused", (answer, code, text) => {
    expect(() => readSignature(answer, 1, CALL)).toThrow(
      expect.objectContaining({ code, message: `${CALL}${text.startsWith(":") ? "" : " "}${text}` }),
    );
  });
});
