import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NssToken, startNss } from "@signpost/test-backends/nss";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import { createOpener, type GuardedOptions, outcome } from "./support/signing.ts";

const opener = createOpener();
let nss: NssToken;
let base: GuardedOptions;

beforeAll(async () => {
  nss = await startNss({ password: false });
  const { module, libraryParameters, tokenLabel: token, pin } = nss;
  base = { module, libraryParameters, token, pin, object: "k1", sessions: 2 };
  generateP256Key({ module, libraryParameters, token, pin, label: "k1", id: Buffer.from("01", "hex") });
});
afterAll(async () => {
  await opener.closeAll();
  await nss.stop();
});

describe("a database without a password", () => {
  test("signs without a login, whatever PIN is given", async () => {
    expect(await outcome(await opener.open(base))).toBe("signed");
  });

  test("refuses the login for a missing key, and the signers of other keys continue", async () => {
    const signer = await opener.open(base);
    await expect(opener.open({ ...base, object: "k2" })).rejects.toMatchObject({
      code: "pin_incorrect",
      message: expect.stringMatching(/no private key with label "k2"; the token has private keys: "k1"/) as string,
    });
    // The PIN that was refused is not tried again.
    await expect(opener.open({ ...base, object: "k3" })).rejects.toMatchObject({
      code: "pin_incorrect",
      message: expect.stringContaining('label "k3"') as string,
    });
    expect(await outcome(signer)).toBe("signed");
    expect(signer.health().status).toBe("ready");
    expect(await outcome(await opener.open(base))).toBe("signed");
  });
});
