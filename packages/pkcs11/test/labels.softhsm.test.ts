import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openSigner } from "@signpost/core";
import { openPkcs11Signer, pkcs11 } from "@signpost/pkcs11";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { createOpener, type GuardedOptions, signsAndVerifies } from "./support/signing.ts";

// "café" and "cafè" as Latin-1 has them: as UTF-8 neither is text, and made into text they would be one.
const E9 = Buffer.from("caf\u00e9", "latin1");
const E8 = Buffer.from("caf\u00e8", "latin1");

const opener = createOpener();
const made = new Map<Buffer, object>();
let hsm: SoftHsm;
let base: GuardedOptions;

beforeAll(async () => {
  hsm = await startSoftHsm();
  const { module, tokenLabel: token, pin } = hsm;
  base = { module, token, pin, sessions: 1 };
  for (const [id, label] of [E9, E8].entries()) {
    made.set(
      label,
      generateP256Key({ module, token, pin, label, id: Buffer.from([id + 1]) }).export({ format: "jwk" }),
    );
  }
});
afterEach(() => opener.closeAll());
afterAll(() => hsm.stop());

describe.each(["thread", "process"] as const)("a label that is not UTF-8, isolation %s", (isolation) => {
  test.each([
    ["caf%E9", E9],
    ["caf%E8", E8],
  ])("finds its key as bytes, and the signer's URI (object=%s) opens it again", async (encoded, label) => {
    const signer = await opener.open({ ...base, isolation, object: label });
    expect(made.get(label)).toMatchObject(signer.publicKey);
    expect(signer.uri).toContain(`;object=${encoded};`);
    await using again = await openSigner(signer.uri, [pkcs11({ isolation, pin: hsm.pin, sessions: 1 })]);
    expect(again.publicKey).toEqual(signer.publicKey);
    expect(again.uri).toBe(signer.uri);
    expect(await signsAndVerifies(again)).toBe(true);
  });

  test("is reported byte for byte", async () => {
    const error: unknown = await openPkcs11Signer({ ...base, isolation }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ambiguous_key" });
    expect(String(error)).toContain('"caf%E9" (not UTF-8) (id 01)');
    expect(String(error)).toContain('"caf%E8" (not UTF-8) (id 02)');
  });

  test("is not found by text that looks like it", async () => {
    await expect(openPkcs11Signer({ ...base, isolation, object: "caf\u00e9" })).rejects.toMatchObject({
      code: "key_not_found",
    });
  });
});
