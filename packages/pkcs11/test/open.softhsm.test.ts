import { createHash, randomBytes, verify } from "node:crypto";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openPkcs11Signer, type Pkcs11SignerOptions } from "@signpost/pkcs11";
import { createOpener } from "./support/signing.ts";
import { type GeneratedKey, type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";

const opener = createOpener();
let hsm: SoftHsm;
let key: GeneratedKey;
let base: Omit<Pkcs11SignerOptions, "policy">;

beforeAll(async () => {
  hsm = await startSoftHsm();
  key = await hsm.generateKey({ label: "k1", id: "0a01" });
  await hsm.generateKey({ label: "twin", id: "0b01" });
  await hsm.generateKey({ label: "twin", id: "0b02" });
  await hsm.generateForeignKey({ label: "p384", id: "0c01", keyType: "EC:secp384r1" });
  await hsm.generateForeignKey({ label: "rsa", id: "0c02", keyType: "rsa:2048" });
  base = { module: hsm.module, token: hsm.tokenLabel, pin: hsm.pin };
});
afterAll(() => hsm.stop());
afterEach(() => opener.closeAll());

describe("opening a key", () => {
  test("finds it by label and signs digests that node:crypto verifies under the token's own public key", async () => {
    const signer = await opener.open({ ...base, object: "k1" });
    const message = randomBytes(100);
    const signature = await signer.sign(createHash("sha256").update(message).digest());
    expect(signature).toHaveLength(64);
    expect(verify("sha256", message, { key: key.publicKey, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
    expect(key.publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
    expect(signer.health()).toMatchObject({ status: "ready", notes: [] });
  });

  test("finds it by CKA_ID, and by both", async () => {
    const byId = await opener.open({ ...base, id: Buffer.from("0b02", "hex") });
    const byBoth = await opener.open({ ...base, object: "twin", id: Buffer.from("0b02", "hex") });
    expect(byBoth.publicKey).toEqual(byId.publicKey);
  });

  test("takes the bytes of another realm, as a test runner or a sandbox makes them", async () => {
    const foreign = (bytes: Uint8Array): Uint8Array => runInNewContext("Uint8Array.from(bytes)", { bytes: [...bytes] });
    const id = foreign(Buffer.from("0a01", "hex"));
    expect(id).not.toBeInstanceOf(Uint8Array);
    const signer = await opener.open({ ...base, id, pin: foreign(Buffer.from(hsm.pin)) });
    expect(key.publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
  });

  test("names the key by token, serial, label, id and module in its URI", async () => {
    const signer = await opener.open({ ...base, object: "k1" });
    expect(signer.uri).toMatch(
      /^pkcs11:token=signpost-\d+;serial=[0-9a-f]+;object=k1;id=%0A%01;type=private\?module-path=\/[\w/.-]+$/,
    );
  });

  test.each<[name: string, options: Partial<Omit<Pkcs11SignerOptions, "policy">>, code: string, text: RegExp]>([
    [
      "a token that is not there",
      { token: "elsewhere", object: "k1" },
      "key_not_found",
      /no token matches token "elsewhere"; the module has "signpost-/,
    ],
    [
      "a label that no key has",
      { object: "k2" },
      "key_not_found",
      /no private key with label "k2"; the token has private keys: .*"k1" \(id 0a01\)/,
    ],
    ["an id that no key has", { id: Buffer.from("ff", "hex") }, "key_not_found", /no private key with id ff/],
    [
      "a label that two keys have",
      { object: "twin" },
      "ambiguous_key",
      /"twin" \(id 0b01\), "twin" \(id 0b02\)|"twin" \(id 0b02\), "twin" \(id 0b01\)/,
    ],
    ["no name at all where there are several keys", {}, "ambiguous_key", /more than one private key on the token/],
    ["a P-384 key", { object: "p384" }, "unsupported_key", /expected P-256/],
    ["an RSA key", { object: "rsa" }, "unsupported_key", /is of the key type RSA; expected EC P-256/],
    ["a wrong PIN", { object: "k1", pin: "00000000" }, "pin_incorrect", /CKR_PIN_INCORRECT/],
  ])("refuses %s", async (_name, options, code, text) => {
    const error: unknown = await openPkcs11Signer({ ...base, ...options }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "SignerError", code, transient: false });
    expect((error as Error).message).toMatch(text);
    expect((error as Error).message).not.toContain(hsm.pin);
  });
});
