import { beforeAll, describe, expect, test } from "vitest";
import { openPkcs11Signer, pkcs11Certificates, type Pkcs11CertificatesOptions } from "@signpost/pkcs11";
import { childrenOf } from "./support/processes.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { sha256, until } from "./support/signing.ts";
import { createTestAuthority } from "./support/test-authority.ts";

const at = useShimmedToken();

const CKO_CERTIFICATE = 1;
const CKA_VALUE = 0x11;
const CKR_FUNCTION_FAILED = 0x6;
const CKR_SESSION_COUNT = 0xb1;
const CKR_DEVICE_REMOVED = 0x32;

beforeAll(async () => {
  await using authority = await createTestAuthority();
  const { file } = await authority.issue("leaf", at.key.publicKey);
  await at.hsm.pkcs11Tool("--write-object", file, "--type", "cert", "--label", "leaf", "--id", "01");
});

function labels(options: Partial<Pkcs11CertificatesOptions> = {}): Promise<readonly string[]> {
  return pkcs11Certificates({ module: at.shim.module, token: at.hsm.tokenLabel, object: "k1", ...options }).then(
    (chains) => chains.flatMap((chain) => chain.map(({ label }) => label)),
  );
}

describe.each(["thread", "process"] as const)("isolation %s", (isolation) => {
  test("logs in nowhere, signs nothing, and leaves nothing open", async () => {
    expect(await labels({ isolation })).toEqual(["leaf"]);
    const { shim } = at;
    expect(["C_Login", "C_SignInit", "C_Sign", "C_Logout"].map((name) => shim.calls(name as "C_Login"))).toEqual([
      0, 0, 0, 0,
    ]);
    expect(shim.calls("C_OpenSession")).toBe(shim.calls("C_CloseSession"));
    expect([shim.calls("C_Initialize"), shim.calls("C_Finalize")]).toEqual([1, 1]);
    await until(() => childrenOf(process.pid).length === 0);
  });

  test("a call that hangs ends with the deadline, and a signer opens after it has returned", async () => {
    at.shim.hang("C_FindObjectsInit");
    await expect(labels({ isolation, openDeadlineMs: 400 })).rejects.toMatchObject({
      code: "timeout",
      transient: true,
    });
    at.shim.release();
    const signer = await openPkcs11Signer({ ...at.base, isolation });
    await expect(signer.sign(sha256(Buffer.from("after it")))).resolves.toHaveLength(64);
    expect(await labels({ isolation })).toEqual(["leaf"]);
    await signer.close();
  });

  test.each([
    ["C_OpenSession", CKR_SESSION_COUNT, "unavailable"],
    ["C_OpenSession", CKR_DEVICE_REMOVED, "unavailable"],
    ["C_FindObjectsInit", CKR_FUNCTION_FAILED, "unavailable"],
  ] as const)("a refusal of %s with %i is a typed error, and the session is closed", async (name, code, expected) => {
    at.shim.fail(name, code, name === "C_FindObjectsInit" ? { objectClass: CKO_CERTIFICATE } : {});
    await expect(labels({ isolation })).rejects.toMatchObject({
      name: "SignerError",
      code: expected,
      message: expect.stringContaining(name) as string,
    });
    if (name === "C_FindObjectsInit") expect(at.shim.calls("C_OpenSession")).toBe(at.shim.calls("C_CloseSession"));
  });
});

test("an object that does not show its value is left out", async () => {
  at.shim.fail("C_GetAttributeValue", CKR_FUNCTION_FAILED, { attribute: CKA_VALUE });
  expect(await labels()).toEqual([]);
});

test("while a signer signs, reading takes no session away from it", async () => {
  const signer = await openPkcs11Signer({ ...at.base, sessions: 2 });
  const signing = Array.from({ length: 40 }, (_, index) => signer.sign(sha256(Buffer.from(`token ${index}`))));
  expect(await labels()).toEqual(["leaf"]);
  expect(await Promise.all(signing)).toHaveLength(40);
  expect(signer.health().status).toBe("ready");
  await signer.close();
});
