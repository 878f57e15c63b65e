import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { isKeyVersionName, parseCryptoKey, parseKeyName } from "../src/key-name.ts";
import { formatKeyUri, parseKeyUri } from "../src/uri.ts";

const KEY = "projects/my-op/locations/europe-west3/keyRings/Ring_1/cryptoKeys/ID-token";

describe("a name of a version", () => {
  test.each([
    ["as the service writes it", `${KEY}/cryptoKeyVersions/3`, `${KEY}/cryptoKeyVersions/3`],
    ["as other tools shorten it", `${KEY}/versions/3`, `${KEY}/cryptoKeyVersions/3`],
    ["with a project of a domain", KEY.replace("my-op", "example.com:my-op") + "/versions/12", undefined],
    ["with a project number", KEY.replace("my-op", "123456789012") + "/cryptoKeyVersions/1", undefined],
    ["in a multi-region", KEY.replace("europe-west3", "eur4") + "/cryptoKeyVersions/1", undefined],
    ["with the highest version there can be", `${KEY}/cryptoKeyVersions/9223372036854775807`, undefined],
    ["in the global location", KEY.replace("europe-west3", "global") + "/cryptoKeyVersions/1", undefined],
  ])("is accepted %s", (_how, name, normalised) => {
    expect(parseKeyName("keyVersion", name)).toEqual({
      kind: "version",
      keyVersion: normalised ?? name.replace("/versions/", "/cryptoKeyVersions/"),
    });
  });

  test.each([
    ["empty", ""],
    ["not a string", 3],
    ["a version that is no number", `${KEY}/cryptoKeyVersions/latest`],
    ["version 0", `${KEY}/cryptoKeyVersions/0`],
    ["a leading zero, which would be a second name of version 1", `${KEY}/cryptoKeyVersions/01`],
    ["a version that no 64-bit number holds", `${KEY}/cryptoKeyVersions/10000000000000000000`],
    ["digits of another script", `${KEY}/cryptoKeyVersions/\u0661`],
    ["a sign", `${KEY}/cryptoKeyVersions/+1`],
    ["a trailing slash", `${KEY}/cryptoKeyVersions/1/`],
    ["a leading slash", `/${KEY}/cryptoKeyVersions/1`],
    ["white space", `${KEY}/cryptoKeyVersions/1 `],
    ["a line end", `${KEY}/cryptoKeyVersions/1\n`],
    ["a percent escape", `${KEY.replace("my-op", "my%2Dop")}/cryptoKeyVersions/1`],
    ["a query", `${KEY}/cryptoKeyVersions/1?x=1`],
    ["a part that is missing", KEY.replace("/keyRings/Ring_1", "") + "/cryptoKeyVersions/1"],
    ["an empty id", KEY.replace("Ring_1", "") + "/cryptoKeyVersions/1"],
    ["parts in another order", KEY.replace("locations/europe-west3/keyRings/Ring_1", "keyRings/a/locations/b")],
    ["another case of a collection", KEY.replace("cryptoKeys", "cryptokeys") + "/cryptoKeyVersions/1"],
    ["a host before it, as from a URI", `kms.example/${KEY}/cryptoKeyVersions/1`],
    ["a fragment", `${KEY}/cryptoKeyVersions/1#x`],
    ["a step upwards", KEY.replace("Ring_1", "..") + "/cryptoKeyVersions/1"],
    ["its URI", `gcpkms://${KEY}/cryptoKeyVersions/1`],
    ["its full resource name", `//cloudkms.googleapis.com/${KEY}/cryptoKeyVersions/1`],
    ["a public key's name", `${KEY}/cryptoKeyVersions/1/publicKey`],
    ["an id over 63 characters", `${KEY}${"x".repeat(63)}/cryptoKeyVersions/1`],
  ])("is refused: %s", (_what, name) => {
    const parse = (): unknown => parseKeyName("keyVersion", name);
    expect(parse).toThrow(ConfigurationError);
    expect(parse).toThrow(/^keyVersion: expected projects\/PROJECT\//);
  });

  test("is read from a URI with the scheme in capitals", () => {
    expect(parseKeyUri(`GCPKMS://${KEY}/cryptoKeyVersions/3`)).toBe(`${KEY}/cryptoKeyVersions/3`);
  });

  test("keeps its case, byte for byte, through the URI", () => {
    const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,63}$/);
    fc.assert(
      fc.property(id, id, fc.integer({ min: 1, max: 1e9 }), (ring, key, version) => {
        const name = `projects/p/locations/l/keyRings/${ring}/cryptoKeys/${key}/cryptoKeyVersions/${version}`;
        expect(parseKeyName("uri", parseKeyUri(formatKeyUri(name)))).toEqual({ kind: "version", keyVersion: name });
        expect(isKeyVersionName(name)).toBe(true);
      }),
    );
  });

  test("is told from the beginning of one", () => {
    const whole = `${KEY}/cryptoKeyVersions/12`;
    for (let length = 0; length < whole.length - 1; length += 1) {
      expect(isKeyVersionName(whole.slice(0, length))).toBe(false);
    }
  });
});

describe("a name of a key", () => {
  test("is told from that of a version", () => {
    expect(parseKeyName("keyVersion", KEY)).toEqual({ kind: "key", cryptoKey: KEY });
    expect(parseCryptoKey(KEY)).toBe(KEY);
  });

  test("is what a list is of", () => {
    expect(() => parseCryptoKey(`${KEY}/cryptoKeyVersions/1`)).toThrow(/without a version/);
    expect(() => parseCryptoKey("projects/p")).toThrow(/^cryptoKey: expected/);
  });
});

test.each(["gcp-kms://projects/p", "gcpkms:projects/p", "gcpkmz://projects/p", "awskms:///x"])(
  "%s is no key URI of this adapter",
  (uri) => expect(() => parseKeyUri(uri)).toThrow(/^uri: expected a key URI that begins with gcpkms:/),
);

test("a scheme in capitals is the same scheme", () => {
  expect(parseKeyUri(`GcpKms://${KEY}/cryptoKeyVersions/1`)).toBe(`${KEY}/cryptoKeyVersions/1`);
});

test.each([
  ["id-token", "a string"],
  ["projects/p/cryptoKeys/id-token", "projects/p/cryptoKeys/id-token"],
  ["", "an empty string"],
  [3, "3"],
  ["user:secret@projects/p", "a string"],
  [`${KEY}/cryptoKeyVersions/1?token=secret`, "a string"],
  [`${KEY} secret`, "a string"],
])("a refusal of %j names it as it was given, unless it could be a secret", (name, shown) => {
  const opening = (): unknown => parseKeyName("keyVersion", name);
  expect(opening).toThrow(new RegExp(`, got ${shown}$`));
});
