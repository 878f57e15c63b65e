import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { configurationHint } from "../src/request/configuration-hint.ts";
import { createOpener, type GuardedOptions, outcome } from "./support/signing.ts";

const opener = createOpener();
let hsm: SoftHsm;
let base: GuardedOptions;

beforeAll(async () => {
  hsm = await startSoftHsm();
  await hsm.generateKey({ label: "k1", id: "01" });
  base = { module: hsm.module, token: hsm.tokenLabel, object: "k1", pin: hsm.pin, sessions: 1 };
});
afterEach(async () => {
  process.env["SOFTHSM2_CONF"] = hsm.conf;
  await opener.closeAll();
});
afterAll(() => hsm.stop());

async function file(name: string, content: string): Promise<string> {
  await writeFile(join(hsm.directory, name), content);
  return join(hsm.directory, name);
}

async function emptyFolder(): Promise<string> {
  await mkdir(join(hsm.directory, "empty"), { recursive: true });
  return join(hsm.directory, "empty");
}

describe.each(["thread", "process"] as const)("SoftHSM, isolation %s", (isolation) => {
  test.each<[what: string, conf: () => string | Promise<string>, code: string]>([
    ["whose configuration file is not there", () => join(hsm.directory, "missing.conf"), "unavailable"],
    ["with SOFTHSM2_CONF set to nothing", () => "", "unavailable"],
    [
      "whose folder of tokens is not there",
      () => file("no-folder.conf", `directories.tokendir = ${hsm.directory}/nowhere\nobjectstore.backend = file\n`),
      "unavailable",
    ],
    [
      "whose backend is none that it has",
      () => file("backend.conf", `directories.tokendir = ${hsm.directory}/tokens\nobjectstore.backend = rubbish\n`),
      "unavailable",
    ],
    [
      "whose log level is none",
      () => file("log.conf", `directories.tokendir = ${hsm.directory}/tokens\nlog.level = rubbish\n`),
      "unavailable",
    ],
    [
      "whose folder of tokens is empty",
      async () => file("empty.conf", `directories.tokendir = ${await emptyFolder()}\nobjectstore.backend = file\n`),
      "key_not_found",
    ],
  ])("%s names SOFTHSM2_CONF", async (_what, conf, code) => {
    process.env["SOFTHSM2_CONF"] = await conf();
    const error: unknown = await openPkcs11Signer({ ...base, isolation }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, transient: code === "unavailable" });
    expect((error as Error).message).toContain("SOFTHSM2_CONF");
    if (code === "unavailable") expect((error as Error).message).toContain("C_Initialize: CKR_GENERAL_ERROR");

    process.env["SOFTHSM2_CONF"] = hsm.conf;
    expect(await outcome(await opener.open({ ...base, isolation }))).toBe("signed");
  });
});

test.each(["thread", "process"] as const)(
  "SoftHSM, which takes no parameters, isolation %s: the error names the option, and not SOFTHSM2_CONF",
  async (isolation) => {
    await expect(
      openPkcs11Signer({ ...base, isolation, libraryParameters: "configdir='sql:/var/lib/op/nss'" }),
    ).rejects.toMatchObject({
      name: "ConfigurationError",
      argument: "libraryParameters",
      message:
        "libraryParameters: expected no parameters, or text that this module accepts: C_Initialize: CKR_ARGUMENTS_BAD (0x7)",
    });
    expect(await outcome(await opener.open({ ...base, isolation }))).toBe("signed");
  },
);

test("a token that is missing among others is reported without a hint, because the module finds its tokens", async () => {
  const error: unknown = await openPkcs11Signer({ ...base, token: "elsewhere" }).catch((reason: unknown) => reason);
  expect((error as Error).message).not.toContain("SOFTHSM2_CONF");
});

test.each([
  ["/usr/lib/x86_64-linux-gnu/libsoftokn3.so", /libraryParameters/],
  ["/usr/lib/x86_64-linux-gnu/pkcs11/libtpm2_pkcs11.so.1", /TPM2_PKCS11_STORE/],
  ["/usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-client.so", /P11_KIT_SERVER_ADDRESS/],
  ["/usr/lib/x86_64-linux-gnu/libp11-kit.so.0.3.0", /list-modules/],
  ["/usr/lib/p11-kit-proxy.so", /list-modules/],
  ["/usr/lib/softhsm/libother.so", undefined],
])("the hint for %s is %s", (module, text) => {
  const hint = configurationHint(module);
  if (text === undefined) expect(hint).toBeUndefined();
  else expect(hint).toMatch(text);
});
