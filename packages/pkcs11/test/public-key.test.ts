import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { PrivateKeyDescription } from "../src/cryptoki/descriptions.ts";
import { publicKeyOf } from "../src/request/public-key.ts";

const spkiOf = (key: ReturnType<typeof generateKeyPairSync>["publicKey"]): Uint8Array =>
  key.export({ type: "spki", format: "der" });
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
const spki = spkiOf(p256);
const point = spki.subarray(-65);
const jwk = p256.export({ format: "jwk" });
const rsa = spkiOf(generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey);
const p384Point = spkiOf(generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey).subarray(-97);
const text = Buffer.from("not an object of this kind");

const shows = (values: Partial<PrivateKeyDescription>): PrivateKeyDescription => ({
  label: Buffer.from("sig"),
  id: Buffer.from([1]),
  alwaysAuthenticate: false,
  ecPoints: [],
  publicKeyInfos: [],
  certificates: [],
  untold: undefined,
  ...values,
});

test.each<[what: string, values: Partial<PrivateKeyDescription>]>([
  ["a certificate that cannot be read", { ecPoints: [point], certificates: [text] }],
  ["CKA_PUBLIC_KEY_INFO that is not one", { ecPoints: [point], publicKeyInfos: [text] }],
  ["CKA_EC_POINT that is not one", { ecPoints: [text], publicKeyInfos: [spki] }],
  ["the public key of an RSA key with the same CKA_ID", { publicKeyInfos: [rsa, spki] }],
  ["the public key of a P-384 key with the same CKA_ID", { ecPoints: [p384Point, point] }],
])("%s does not hide the public half that another object shows", (_what, values) => {
  expect(jwk).toMatchObject(publicKeyOf(shows(values)) ?? {});
  expect(publicKeyOf(shows(values))).toBeDefined();
});

test("objects without a P-256 key are refused, for the first reason", () => {
  expect(() => publicKeyOf(shows({ publicKeyInfos: [rsa], certificates: [text] }))).toThrow(
    expect.objectContaining({
      code: "unsupported_key",
      message: expect.stringContaining('"sig" (id 01): its public half is not a P-256 key: spki:') as string,
    }),
  );
});

test("two different P-256 keys are ambiguous, and the error says what to do", () => {
  const other = spkiOf(generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey);
  expect(() => publicKeyOf(shows({ ecPoints: [point], publicKeyInfos: [other], certificates: [text] }))).toThrow(
    expect.objectContaining({
      code: "ambiguous_key",
      message: expect.stringMatching(
        /^"sig" \(id 01\): .* are of different keys\. Delete those of another key from the token, or /,
      ) as string,
    }),
  );
});

test("no object is no public half", () => {
  expect(publicKeyOf(shows({}))).toBeUndefined();
});
