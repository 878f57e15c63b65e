import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NssToken, startNss } from "@signpost/test-backends/nss";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import { otherCodeTests } from "./support/other-code.ts";
import { createOpener, type GuardedOptions } from "./support/signing.ts";

const opener = createOpener();
let nss: NssToken;
let base: GuardedOptions;

beforeAll(async () => {
  nss = await startNss();
  const { module, libraryParameters, tokenLabel: token, pin } = nss;
  base = { module, libraryParameters, token, pin, object: "k1", sessions: 2 };
});
afterAll(() => nss.stop());

describe("a signer on an NSS database", () => {
  test("has the public half that the token showed when the key was made", async () => {
    const { module, libraryParameters, tokenLabel: token, pin } = nss;
    const id = Buffer.from("01", "hex");
    const publicKey = generateP256Key({ module, libraryParameters, token, pin, label: "k1", id });
    expect(() =>
      generateP256Key({ module, libraryParameters, token, pin, label: "k1", id: Buffer.from("02", "hex") }),
    ).toThrow(/label already/);
    expect(() => generateP256Key({ module, libraryParameters, token, pin, label: "k2", id })).toThrow(/id already/);
    const signer = await opener.open(base);
    expect(publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
    await opener.closeAll();
  });

  test("refuses a wrong PIN", async () => {
    await expect(opener.open({ ...base, pin: "wrong" })).rejects.toMatchObject({ code: "pin_incorrect" });
  });

  otherCodeTests(
    () => ({ module: nss.module, token: nss.tokenLabel }),
    () => opener.open(base),
  );
});
