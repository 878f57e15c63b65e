import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type NssToken, startNss } from "@signpost/test-backends/nss";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import { otherCodeTests } from "./support/other-code.ts";
import { startOpeningThread } from "./support/opening-thread.ts";
import { forgetRefusedPins } from "@signpost/pkcs11";
import { createOpener, type GuardedOptions, openingOutcome, outcome, until } from "./support/signing.ts";

const opener = createOpener();
let nss: NssToken;
let base: GuardedOptions & { readonly pin: string };

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
    ).toThrow(/already has a key with this label/);
    expect(() => generateP256Key({ module, libraryParameters, token, pin, label: "k2", id })).toThrow(
      /already has a key with this id/,
    );
    const signer = await opener.open(base);
    expect(publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
    await opener.closeAll();
  });

  test("refuses a wrong PIN", async () => {
    await expect(opener.open({ ...base, pin: "wrong" })).rejects.toMatchObject({ code: "pin_incorrect" });
  });

  test.each(["thread", "process"] as const)(
    "is not opened where the module has another database open, isolation %s",
    async (isolation) => {
      await using other = await startNss();
      const { module, libraryParameters, tokenLabel: token, pin } = other;
      generateP256Key({ module, libraryParameters, token, pin, label: "k1", id: Buffer.from("01", "hex") });
      const signer = await opener.open({ ...base, isolation });
      // Both tokens have one label and one serial number.
      const refused = { name: "ConfigurationError", argument: "libraryParameters" };
      await expect(opener.open({ ...base, isolation, libraryParameters })).rejects.toMatchObject(refused);
      await expect(opener.open({ ...base, isolation, libraryParameters: undefined })).rejects.toMatchObject(refused);
      await opener.closeAll();
      const next = await opener.open({ ...base, isolation, libraryParameters });
      expect(next.publicKey.x).not.toBe(signer.publicKey.x);
      await opener.closeAll();
    },
  );

  test("is not opened while another thread has another database open", async () => {
    await using other = await startNss();
    await opener.open(base);
    const thread = startOpeningThread();
    expect(await thread.open({ ...base, libraryParameters: other.libraryParameters })).toBe("invalid_configuration");
    expect(await thread.open(base)).toBe("opened");
    await thread.end();
    await opener.closeAll();
  });

  test.each(["thread", "process"] as const)(
    "says nothing about the PIN of another database, in a copy of the module, isolation %s",
    async (isolation) => {
      await using other = await startNss({ pin: "nss-27182818" });
      const folder = await mkdtemp(join(tmpdir(), "signpost-nss-copy-"));
      const module = join(folder, "libsoftokn3.so");
      await copyFile(other.module, module);
      const { libraryParameters, tokenLabel: token, pin } = other;
      generateP256Key({ module, libraryParameters, token, pin, label: "k1", id: Buffer.from("01", "hex") });
      const here = { ...base, isolation };
      const there = { ...here, module, libraryParameters, pin };

      await opener.open(here);
      const otherSigner = await opener.open(there);
      // The last PIN that a token with this name accepted is that of the other database.
      expect((await opener.open(here)).health().notes).toEqual([]);
      expect(await openingOutcome(opener.open({ ...here, pin }))).toBe("pin_incorrect");
      await otherSigner.close();
      expect(await openingOutcome(opener.open({ ...there, pin: base.pin }))).toBe("pin_incorrect");
      await opener.closeAll();
      expect(await outcome(await opener.open(here))).toBe("signed");

      await opener.closeAll();
      await forgetRefusedPins();
      await rm(folder, { recursive: true });
    },
  );

  test.each(["thread", "process"] as const)(
    "signs again once its password was changed by another program, isolation %s",
    async (isolation) => {
      await using database = await startNss();
      const { module, libraryParameters, tokenLabel: token } = database;
      let { pin } = database;
      generateP256Key({ module, libraryParameters, token, pin, label: "k1", id: Buffer.from("01", "hex") });
      const signer = await opener.open({ ...base, libraryParameters, isolation, pin: () => pin });
      await database.changePin("nss-16180339");
      pin = "nss-16180339";
      await until(async () => (await outcome(signer)) === "signed");
      await until(() => signer.health().status === "ready");
      expect(signer.health().notes).toEqual([]);
      await opener.closeAll();
    },
  );

  otherCodeTests(
    () => ({ module: nss.module, token: nss.tokenLabel }),
    () => opener.open(base),
  );
});
