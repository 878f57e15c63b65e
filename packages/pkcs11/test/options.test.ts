import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openSigner } from "@signpost/core";
import { openPkcs11Signer, pkcs11, type Pkcs11SignerOptions } from "@signpost/pkcs11";

const base = { module: "/nowhere/module.so", pin: "1234" };

/** What opening with these options rejects with. The compiler would refuse most of them. */
function refusal(options: object): Promise<unknown> {
  return openPkcs11Signer({ ...base, ...options } as Pkcs11SignerOptions).then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** By its first bytes it is a library. Nothing of it is loaded where an option is refused. */
const library = process.execPath;

const notNumbers = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, "4", null, 4n, [4]];

describe("openPkcs11Signer", () => {
  test.each<[unknown: string, nearest: string]>([
    ["openDeadlineMS", "openDeadlineMs"],
    ["session", "sessions"],
    ["slotID", "slotId"],
    ["isolated", "isolation"],
    ["label", "the options are"],
  ])("refuses the unknown option %s by name, and says %s", async (name, nearest) => {
    expect(await refusal({ [name]: 1 })).toMatchObject({
      name: "ConfigurationError",
      argument: name,
      message: expect.stringContaining(nearest) as string,
    });
  });

  test.each([{}, "signal", 1, null])("refuses %j as its signal", async (signal) => {
    expect(await refusal({ signal })).toMatchObject({ name: "ConfigurationError", argument: "signal" });
  });

  test("ignores an unknown option that is undefined", async () => {
    expect(await refusal({ sesions: undefined })).toMatchObject({ argument: "module" });
  });

  test.each(["sessions", "openDeadlineMs"])("%s takes only whole numbers within its bounds", async (name) => {
    for (const value of [...notNumbers.filter((given) => given !== null), -1, 1.5, 2 ** 53])
      expect(await refusal({ [name]: value })).toMatchObject({ name: "ConfigurationError", argument: name });
  });

  test.each([0, 2 ** 53 - 1, 0n, 2n ** 64n - 1n, "0", "007", "2305843009213693953", "18446744073709551615"])(
    "takes %s as slotId",
    async (slotId) => {
      expect(await refusal({ slotId })).toMatchObject({ argument: "module" });
    },
  );

  test.each([
    Number.NaN,
    -1,
    1.5,
    2 ** 53,
    Infinity,
    -1n,
    2n ** 64n,
    "",
    "-1",
    "0x1",
    "1.0",
    " 1",
    "18446744073709551616",
  ])("refuses %s as slotId", async (slotId) => {
    expect(await refusal({ slotId })).toMatchObject({ name: "ConfigurationError", argument: "slotId" });
  });

  test.each([[""], [Buffer.alloc(0)], [7], [["k1"]], [null]])("refuses %o as object", async (object) => {
    expect(await refusal({ object })).toMatchObject({ name: "ConfigurationError", argument: "object" });
  });

  test("says how to give a slotId of 2^53 or more", async () => {
    expect(await refusal({ slotId: 2 ** 61 })).toMatchObject({ message: expect.stringContaining("bigint") as string });
  });

  test.each(["deadlineMs", "attemptTimeoutMs", "maxAttempts"])("policy.%s takes only whole numbers", async (name) => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "4"]) {
      const error = await refusal({ module: library, policy: { [name]: value } });
      expect(error).toMatchObject({ name: "ConfigurationError", argument: `policy.${name}` });
    }
  });

  test("refuses an unknown member of the policy", async () => {
    const error = await refusal({ module: library, policy: { deadlineMS: 100 } });
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "policy.deadlineMS" });
  });

  test("refuses hedges, with the reason", async () => {
    const policy = { hedgeAfterMs: 100 };
    const uri = `pkcs11:token=t;object=k?module-path=${library}&pin-value=1`;
    const opening = openSigner(uri, [pkcs11({ allowPinValue: true })], { policy }).catch((error: unknown) => error);
    for (const error of [await refusal({ module: library, policy }), await opening]) {
      expect(error).toMatchObject({
        name: "ConfigurationError",
        argument: "policy.hedgeAfterMs",
        message: expect.stringContaining("C_Sign") as string,
      });
    }
  });

  test.each([[undefined], [null], ["pkcs11:"], [[]]])("refuses %j instead of options", async (options) => {
    const opening = openPkcs11Signer(options as unknown as Pkcs11SignerOptions);
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument: "options" });
  });

  test("refuses a private JWK as the public key, and repeats none of it", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = privateKey.export({ format: "jwk" });
    const error = await refusal({ publicKey: jwk });
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "publicKey" });
    expect((error as Error).message).not.toContain(jwk.d);
  });
});

describe("pkcs11", () => {
  const make = (options: object) => (): unknown => pkcs11(options);

  test.each<[options: object, argument: string]>([
    [{ pinsource: () => "" }, "pinsource"],
    [{ modul: "/m.so" }, "modul"],
    [{ policy: false }, "policy"],
    [{ sessions: Number.NaN }, "sessions"],
    [{ sessions: "4" }, "sessions"],
    [{ openDeadlineMs: Number.POSITIVE_INFINITY }, "openDeadlineMs"],
    [{ isolation: "proces" }, "isolation"],
    [{ allowPinValue: "false" }, "allowPinValue"],
    [{ pinSource: "file:/p" }, "pinSource"],
    [{ pin: 1234 }, "pin"],
    [{ pin: "12\ud83434" }, "pin"],
    [{ module: 1 }, "module"],
    [{ modules: ["/m.so"] }, "modules"],
    [{ modules: new Map([["m", "/m.so"]]) }, "modules"],
    [{ modules: { m: 1 } }, "modules"],
    [{ allowedModules: "/m.so" }, "allowedModules"],
    [{ allowedModules: [] }, "allowedModules"],
    [{ allowedModules: ["/m.so", ""] }, "allowedModules"],
  ])("refuses %j when it is made", (options, argument) => {
    expect(make(options)).toThrow(expect.objectContaining({ name: "ConfigurationError", argument }));
  });

  test("accepts any module name, which is not an option name", async () => {
    const adapter = pkcs11({ modules: { pinsource: "/nowhere/module.so" }, pin: "1234" });
    await expect(openSigner("pkcs11:?module-name=pinsource", [adapter])).rejects.toMatchObject({ argument: "module" });
  });

  test("keeps its own copy of a PIN in bytes, which the caller may erase", async () => {
    const pin = Buffer.from("1234");
    const adapter = pkcs11({ pin });
    pin.fill(0);
    const opening = openSigner("pkcs11:object=a?module-path=/nowhere/module.so", [adapter]);
    await expect(opening).rejects.toMatchObject({ argument: "module" });
  });

  test("refuses an unknown option of its open", async () => {
    const opening = pkcs11({ pin: "1234" }).open("pkcs11:?module-path=/nowhere", { polcy: false } as object);
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument: "polcy" });
  });
});
