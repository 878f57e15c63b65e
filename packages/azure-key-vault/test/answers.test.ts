import { afterEach, describe, expect, test, vi } from "vitest";
import { readAttributes, readKey, readSignature, refusalOf, type KeyVersion } from "../src/answers.ts";
import { createKidReader } from "../src/kid.ts";
import { parseVault } from "../src/vault.ts";

const VERSION = "0123456789abcdef0123456789abcdef";
const CALL = "read op at https://op.vault.azure.net";
const KID = `https://op.vault.azure.net/keys/op/${VERSION}`;
const kids = createKidReader(parseVault("vault", "https://op.vault.azure.net"), "op");
const jwk = {
  kid: KID,
  kty: "EC-HSM",
  crv: "P-256",
  key_ops: ["sign", "verify"],
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
};

afterEach(() => void vi.useRealTimers());

const read = (attributes: object): KeyVersion => readAttributes({ enabled: true, ...attributes }, VERSION, CALL);

describe("the attributes of a version", () => {
  test("are times in seconds, from 1970 to the last that a Date can hold", () => {
    const { created, notBefore, expires } = read({ created: 0, nbf: 1_700_000_000, exp: 8_640_000_000_000 });
    expect([created, notBefore, expires].map((date) => date?.getTime())).toEqual([
      0, 1_700_000_000_000, 8_640_000_000_000_000,
    ]);
    expect(read({ created: null, nbf: undefined })).toMatchObject({ created: undefined, notBefore: undefined });
  });

  test.each([-1, 8_640_000_000_001, Number.NaN, "1700000000"])("are refused for the time %s", (time) => {
    for (const member of ["created", "nbf", "exp"]) {
      expect(() => read({ [member]: time })).toThrow(
        expect.objectContaining({ code: "integrity", transient: false, message: `${CALL}: ${member} is not a time` }),
      );
    }
  });

  test.each<[attributes: object, notes: readonly RegExp[]]>([
    [{}, []],
    [{ exportable: false, recoveryLevel: "Recoverable" }, []],
    [{ exportable: true }, [/^exportable: /]],
    [{ exportable: "true" }, []],
    [{ recoveryLevel: "Recoverable+Purgeable" }, [/^the vault has no purge protection: /]],
    [{ recoveryLevel: "CustomizedRecoverable+ProtectedSubscription" }, []],
    [{ exp: 1_700_000_000 }, [/^exp 2023-11-14T22:13:20\.000Z: the service refuses to sign/]],
    [
      { exportable: true, recoveryLevel: "Purgeable", exp: 0 },
      [/^exportable/, /purge protection/, /^exp 1970-01-01T00:00:00\.000Z/],
    ],
  ])("%j give the operator these notes", (attributes, notes) => {
    const found = read(attributes).notes;
    expect(found).toHaveLength(notes.length);
    for (const [index, note] of notes.entries()) expect(found[index]).toMatch(note);
  });
});

describe("a version can sign", () => {
  const NOW = 1_700_000_000_000;
  const refusal = (attributes: object): string | undefined => {
    vi.useFakeTimers({ now: NOW });
    const error = refusalOf(read(attributes), CALL);
    if (error !== undefined) expect(error).toMatchObject({ code: "key_disabled", transient: false });
    return error?.message;
  };
  const WHO = `${CALL}: version ${VERSION}`;
  test.each<[attributes: object, message: string | undefined]>([
    [{}, undefined],
    [{ enabled: false }, `${WHO} is disabled`],
    [{ nbf: NOW / 1000 }, undefined],
    [{ nbf: NOW / 1000 + 1 }, `${WHO} is not valid before 2023-11-14T22:13:21.000Z (nbf)`],
    [{ exp: NOW / 1000 + 1 }, undefined],
    [{ exp: NOW / 1000 }, `${WHO} has expired at 2023-11-14T22:13:20.000Z (exp)`],
    [{ nbf: NOW / 1000, exp: NOW / 1000 + 1 }, undefined],
  ])("with %j, or the refusal says why not", (attributes, message) => {
    expect(refusal(attributes)).toBe(message);
  });
});

describe("the key in an answer", () => {
  const readWith = (changes: object, wanted: string | undefined = VERSION): unknown => {
    const answer = { key: { ...jwk, ...changes }, attributes: { enabled: true } };
    try {
      return readKey(answer, wanted, kids, CALL);
    } catch (error) {
      return error;
    }
  };

  test.each([VERSION, undefined])("is P-256, of the version that was asked for (%s)", (wanted) => {
    const publicKey = { kty: "EC", crv: "P-256", x: jwk.x, y: jwk.y };
    expect(readWith({}, wanted)).toMatchObject({ keyVersion: VERSION, enabled: true, publicKey });
    expect(readWith({ kty: "EC", key_ops: ["sign"] }, wanted)).toMatchObject({ publicKey });
  });

  test.each<[changes: object, code: string, text: string]>([
    [{ kty: "RSA-HSM", crv: undefined }, "unsupported_key", "the key is RSA-HSM, expected EC or EC-HSM P-256"],
    [{ crv: "P-384" }, "unsupported_key", "the key is EC-HSM P-384, expected"],
    [{ kty: "oct", crv: "P-256" }, "unsupported_key", "the key is oct P-256, expected"],
    [{ kty: "<script>", crv: 7 }, "unsupported_key", "the key is unknown, expected"],
    [{ kty: "A".repeat(32), crv: "" }, "unsupported_key", `the key is ${"A".repeat(32)}, expected`],
    [{ kty: "A".repeat(33), crv: "" }, "unsupported_key", "the key is unknown, expected"],
    [{ key_ops: ["verify"] }, "unsupported_key", "the key_ops of the key do not contain sign"],
    [{ key_ops: undefined }, "integrity", "was answered without key_ops"],
    [{ kty: undefined }, "integrity", "was answered without kty"],
    [{ x: undefined }, "integrity", "was answered without x"],
    [{ y: undefined }, "integrity", "was answered without y"],
    [{ kid: undefined }, "integrity", "was answered without kid"],
    [{ kid: null }, "integrity", "was answered without kid"],
    [{ kid: "" }, "integrity", "was answered without kid"],
    [
      { kid: KID.replace(VERSION, "f".repeat(32)) },
      "wrong_key",
      `version ${"f".repeat(32)} answered, expected ${VERSION}`,
    ],
  ])("is refused with %j", (changes, code, text) => {
    expect(readWith(changes)).toMatchObject({ code, message: expect.stringContaining(text) as string });
  });

  test.each([[undefined], [null], [{}], [{ key: null }], [{ key: "op" }]])("is missing in %j", (answer) => {
    expect(() => readKey(answer, undefined, kids, CALL)).toThrow(/was answered without key$/);
  });
});

test.each<[length: number, message: string]>([
  [63, "the signature has 63 bytes, expected 64"],
  [65, "the signature has 65 bytes, expected 64"],
])("a signature of %i bytes is refused", (length, message) => {
  const answer = { kid: KID, value: Buffer.alloc(length, 1).toString("base64url") };
  expect(() => readSignature(answer, VERSION, kids, CALL)).toThrow(message);
});
