import { describe, expect, test } from "vitest";
import { CKA, CKO } from "@signpost/test-backends/pkcs11-binding";
import { ckrRule } from "../src/cryptoki/ckr.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { openingOutcome, outcome } from "./support/signing.ts";

// What modules answer to what they do not know: codes of every kind, those that speak of the session included.
const CODES = [0x05, 0x06, 0x07, 0x12, 0x13, 0x30, 0x54, 0xb3, 0x80000001];
const EC_PARAMS = 0x180;
const ALWAYS_AUTHENTICATE = 0x202;
const CERTIFICATE = 1;
const at = useShimmedToken(1);

const ATTRIBUTES: readonly [name: string, attribute: number][] = [
  ["CKA_ALWAYS_AUTHENTICATE", ALWAYS_AUTHENTICATE],
  ["CKA_PUBLIC_KEY_INFO", CKA.PUBLIC_KEY_INFO],
  ["CKA_SIGN", CKA.SIGN],
  ["CKA_EC_PARAMS", EC_PARAMS],
  ["CKA_LABEL", CKA.LABEL],
];

const named = (codes: readonly number[]): [name: string, code: number][] =>
  codes.map((code) => [ckrRule(code).name, code]);

describe("what a key can do without, a module may refuse", () => {
  test.each([
    ...ATTRIBUTES.map(([name, attribute]) => [name, ckrRule(0x07).name, attribute, 0x07] as const),
    ...CODES.map((code) => ["CKA_PUBLIC_KEY_INFO", ckrRule(code).name, CKA.PUBLIC_KEY_INFO, code] as const),
  ])("%s, with %s", async (_name, _code, attribute, code) => {
    at.shim.fail("C_GetAttributeValue", code, { attribute });
    const signer = await at.opener.open(at.base);
    expect(at.key.publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
    expect(await outcome(signer)).toBe("signed");
    expect(signer.health().status).toBe("ready");
    expect(at.shim.calls("C_OpenSession")).toBe(1);
  });

  test.each(named([0x06, 0x13, 0x54]))("the search for certificates, with %s", async (_name, code) => {
    at.shim.fail("C_FindObjectsInit", code, { objectClass: CERTIFICATE });
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test.each(named([0x06, 0x54]))("C_GetInfo, with %s", async (_name, code) => {
    at.shim.fail("C_GetInfo", code);
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test("a complete list of slots: another slot appeared while it was read", async () => {
    at.shim.fail("C_GetSlotList", 0x150, { times: 2 });
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test.each(named([0x05, 0x54]))("C_GetSlotInfo, with %s", async (_name, code) => {
    at.shim.fail("C_GetSlotInfo", code);
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test("the list of keys: key_not_found stays, and says what is not known", async () => {
    at.shim.fail("C_FindObjectsInit", 0x06, { objectClass: CKO.public });
    await expect(at.opener.open({ ...at.base, object: "k2" })).rejects.toMatchObject({
      code: "key_not_found",
      message: expect.stringContaining(
        'private keys: "k1" (id 01); public keys: not readable (C_FindObjectsInit: CKR_FUNCTION_FAILED (0x6)); certificates: none',
      ) as string,
    });
  });
});

describe("what a key cannot do without", () => {
  test("is its public half: if the module shows none, the caller must give it", async () => {
    at.shim.fail("C_GetAttributeValue", 0x07, { attribute: CKA.EC_POINT });
    expect(await openingOutcome(at.opener.open(at.base))).toBe("key_not_found");
    const publicKey = at.key.publicKey.export({ type: "spki", format: "pem" }).toString();
    expect(await outcome(await at.opener.open({ ...at.base, publicKey }))).toBe("signed");
  });

  test.each<[what: string, fail: () => void, code: string, refusal: string]>([
    [
      "its attribute, by a code of one who does not know it",
      () => at.shim.fail("C_GetAttributeValue", 0x07, { attribute: CKA.EC_POINT }),
      "key_not_found",
      "C_GetAttributeValue: CKR_ARGUMENTS_BAD (0x7)",
    ],
    [
      "its attribute, while the device is away",
      () => at.shim.fail("C_GetAttributeValue", 0x30, { attribute: CKA.EC_POINT }),
      "unavailable",
      "C_GetAttributeValue: CKR_DEVICE_ERROR (0x30)",
    ],
    [
      "the search for it, while the device is away",
      () => at.shim.fail("C_FindObjectsInit", 0x32, { objectClass: CKO.public }),
      "unavailable",
      "C_FindObjectsInit: CKR_DEVICE_REMOVED (0x32)",
    ],
    [
      "the id that it is found by",
      () => at.shim.fail("C_GetAttributeValue", 0x05, { attribute: CKA.ID }),
      "key_not_found",
      "C_GetAttributeValue: CKR_GENERAL_ERROR (0x5)",
    ],
  ])("is its public half: the error of a refused %s says how", async (_what, fail, code, refusal) => {
    fail();
    await expect(at.opener.open(at.base)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(`, or refused to show it (${refusal}); set this option`) as string,
    });
  });

  test.each([
    ["CKR_ATTRIBUTE_TYPE_INVALID", 0x12, "unsupported_key"],
    ["CKR_GENERAL_ERROR", 0x05, "unavailable"],
  ])("is its type: %s (%i) is %s", async (_name, code, seen) => {
    at.shim.fail("C_GetAttributeValue", code, { attribute: CKA.KEY_TYPE });
    expect(await openingOutcome(at.opener.open(at.base))).toBe(seen);
  });
});

test("a session that is lost while an optional attribute is read still counts as lost", async () => {
  at.shim.fail("C_GetAttributeValue", 0xb3, { attribute: CKA.SIGN, times: 1 });
  // The third time that the session is asked after: behind the attribute that failed.
  at.shim.fail("C_GetSessionInfo", 0xb3, { every: 3, times: 1 });
  await expect(at.opener.open(at.base)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("C_GetAttributeValue: CKR_SESSION_HANDLE_INVALID") as string,
  });
  expect(await outcome(await at.opener.open(at.base))).toBe("signed");
});
