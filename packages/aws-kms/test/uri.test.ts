import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSigner } from "@signpost/core";
import { awsKms } from "@signpost/aws-kms";
import { isKeyArnFor, parseKeyName } from "../src/key-name.ts";
import { formatKeyUri, parseKeyUri } from "../src/uri.ts";

const KEY_ID = "1234abcd-12ab-34cd-56ef-1234567890ab";
const MULTI_REGION = "mrk-1234abcd12ab34cd56ef1234567890ab";
const ARN = `arn:aws:kms:eu-west-1:111122223333:key/${KEY_ID}`;

describe("a key URI", () => {
  test.each<[uri: string, keyId: string, endpoint: string | undefined, region: string | undefined]>([
    ["awskms:///alias/op-2026", "alias/op-2026", undefined, undefined],
    ["AWSkms:///alias/OP-2026", "alias/OP-2026", undefined, undefined],
    ["awskms:///alias/aBc/defGh", "alias/aBc/defGh", undefined, undefined],
    [`awskms:///${KEY_ID}`, KEY_ID, undefined, undefined],
    [`awskms:///${MULTI_REGION}?region=eu-central-1`, MULTI_REGION, undefined, "eu-central-1"],
    [`awskms:///${ARN}`, ARN, undefined, undefined],
    [
      "awskms:///arn:aws-cn:kms:cn-north-1:111122223333:alias/aBc/d",
      "arn:aws-cn:kms:cn-north-1:111122223333:alias/aBc/d",
      undefined,
      undefined,
    ],
    ["awskms:///arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/" + MULTI_REGION, "", undefined, undefined],
    ["awskms://127.0.0.1:4566/alias/op?region=eu-west-1", "alias/op", "http://127.0.0.1:4566", "eu-west-1"],
    ["awskms://localhost:4566/alias/op", "alias/op", "http://localhost:4566", undefined],
    ["awskms://[::1]:4566/alias/op", "alias/op", "http://[::1]:4566", undefined],
    [
      "awskms://vpce-1.kms.eu-west-1.vpce.amazonaws.com/alias/op",
      "alias/op",
      "https://vpce-1.kms.eu-west-1.vpce.amazonaws.com",
      undefined,
    ],
    [
      "awskms://kms-fips.us-gov-west-1.amazonaws.com/alias/op?region=us-gov-west-1",
      "alias/op",
      "https://kms-fips.us-gov-west-1.amazonaws.com",
      "us-gov-west-1",
    ],
    [
      "awskms://kms.eu-west-1.api.aws/alias/op?region=eu-west-1",
      "alias/op",
      "https://kms.eu-west-1.api.aws",
      "eu-west-1",
    ],
    ["awskms://kms.internal:443/alias/op", "alias/op", "https://kms.internal", undefined],
    ["awskms://kms.internal:8443/alias/op", "alias/op", "https://kms.internal:8443", undefined],
    ["awskms://kms:8443/alias/op", "alias/op", "https://kms:8443", undefined],
    ["awskms://kms/alias/op?scheme=https", "alias/op", "https://kms", undefined],
    [
      "awskms://127.0.0.1:4566/alias/op?region=eu-west-1&scheme=https",
      "alias/op",
      "https://127.0.0.1:4566",
      "eu-west-1",
    ],
    ["awskms://[::1]:4566/alias/op?scheme=http", "alias/op", "http://[::1]:4566", undefined],
    ["AWSKMS:///alias/op", "alias/op", undefined, undefined],
  ])("%s", (uri, keyId, endpoint, region) => {
    const parsed = parseKeyUri(uri);
    expect(parsed.key).toBe(keyId === "" ? uri.slice("awskms:///".length) : keyId);
    expect(parsed.endpoint?.url).toBe(endpoint);
    expect(parsed.region).toBe(region);
  });

  test.each([
    "awskms:",
    "awskms:alias/op",
    "awskms:/alias/op",
    "awskms:x///alias/op",
    "awskms:////alias/op",
    "awskms://alias/op",
    "awskms:///",
    "awskms:///alias/",
    "awskms:///alias/op space",
    "awskms:///alias%2Fop",
    "awskms:///alias/op#fragment",
    "awskms:///alias/op?",
    "awskms:///alias/op?region=",
    "awskms:///alias/op?region=EU",
    "awskms:///alias/op?region=eu-west-1&region=eu-west-1",
    "awskms:///alias/op?secret=x",
    "awskms://user@kms.internal/alias/op",
    "awskms://user:password@kms.internal/alias/op",
    "awskms://kms.internal:port/alias/op",
    "awskms://kms.internal\\evil/alias/op",
    "awskms://kms%2einternal/alias/op",
    "awskms://kms.in\tternal/alias/op",
    "awskms://[::1/alias/op",
    "awskms:///alias/op\n",
    "awskms:///alias/op?Region=eu-west-1",
    "awskms:///alias/op?region=eu-west-1#fragment",
    "awskms:///arn:aws:kms:eu-west-1:1111:key/" + KEY_ID,
    "awskms:///arn:aws:s3:eu-west-1:111122223333:key/" + KEY_ID,
    "awskms:///alias/op?scheme=https",
    "awskms://kms.internal/alias/op?scheme=ftp",
    "awskms://kms.internal/alias/op?scheme=https&scheme=https",
    "awskms://kms.internal/alias/op?scheme=http",
    "awskms://localstack:4566/alias/op?scheme=http",
    "awskms:///alias/op?region=eu-west-1&",
    "awskmz:///alias/op",
  ])("that is %s is refused without repeating it", async (uri) => {
    const error = await awsKms()
      .open(uri)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "uri" });
    expect(String(error)).not.toContain("password");
    expect(String(error)).not.toContain("secret");
  });

  test("says http off the loopback interface only where the adapter allows it", () => {
    const uri = "awskms://localstack:4566/alias/op?scheme=http";
    const { endpoint } = parseKeyUri(uri, { allowInsecureEndpoint: true });
    expect(endpoint?.url).toBe("http://localstack:4566");
    expect(formatKeyUri("alias/op", endpoint)).toBe(uri);
    expect(() => parseKeyUri(uri)).toThrow(expect.objectContaining({ argument: "uri" }));
  });

  test("needs no scheme for the host of the adapter's endpoint", () => {
    const { endpoint } = parseKeyUri("awskms://localstack:4566/x?scheme=http", { allowInsecureEndpoint: true });
    expect(parseKeyUri("awskms://localstack:4566/alias/op", { endpoint }).endpoint).toBe(endpoint);
    // A scheme says more than the adapter's endpoint.
    expect(parseKeyUri("awskms://localstack:4566/alias/op?scheme=https", { endpoint }).endpoint?.url).toBe(
      "https://localstack:4566",
    );
    expect(parseKeyUri("awskms://localstack:4567/alias/op", { endpoint }).endpoint?.url).toBe(
      "https://localstack:4567",
    );
  });

  test("goes to this adapter by its scheme", async () => {
    await expect(openSigner("awskms:///", [awsKms()])).rejects.toMatchObject({ argument: "uri" });
  });

  test("of an opened key is read back as the same key, byte for byte", () => {
    const text = (alphabet: string, max: number) =>
      fc.string({ unit: fc.constantFrom(...alphabet.split("")), minLength: 1, maxLength: max });
    const name = text("abcXYZ019-", 40);
    const alias = text("abcXYZ019/_-", 60);
    const resource = fc.oneof(
      name.map((id) => `key/${id}`),
      alias.map((rest) => `alias/${rest}`),
    );
    const arns = resource.map((rest) => `arn:aws:kms:eu-west-1:111122223333:${rest}`);
    const hosts = [undefined, "127.0.0.1:4566/x", "kms.internal:8443/x", "127.0.0.1:4566/x?scheme=https"];
    fc.assert(
      fc.property(arns, fc.constantFrom(...hosts), (arn, host) => {
        const { endpoint } = host === undefined ? { endpoint: undefined } : parseKeyUri(`awskms://${host}`);
        const uri = formatKeyUri(arn, endpoint);
        expect(parseKeyUri(uri)).toMatchObject({ key: arn, endpoint });
        expect(formatKeyUri(parseKeyUri(uri).key, parseKeyUri(uri).endpoint)).toBe(uri);
      }),
    );
  });
});

describe("a key identifier", () => {
  test.each([
    [KEY_ID, "key-id"],
    [MULTI_REGION, "key-id"],
    [ARN, "key-arn"],
    ["alias/op", "alias"],
    ["arn:aws:kms:eu-west-1:111122223333:alias/op", "alias-arn"],
  ])("%s is a %s", (keyId, kind) => {
    expect(parseKeyName("key", keyId).kind).toBe(kind);
  });

  test.each(["", "alias/", "op 1", "key/1", "../x", "arn:aws:kms:eu-west-1:111122223333:grant/x", 5, undefined, null])(
    "%s is refused",
    (keyId) => {
      expect(() => parseKeyName("key", keyId)).toThrow(expect.objectContaining({ argument: "key" }));
    },
  );

  test.each<[asked: string, answered: string, same: boolean]>([
    [KEY_ID, ARN, true],
    [ARN, ARN, true],
    ["alias/op", ARN, true],
    ["arn:aws:kms:eu-west-1:111122223333:alias/op", ARN, true],
    [KEY_ID.toUpperCase(), ARN, false],
    ["other", ARN, false],
    [ARN.replace("eu-west-1", "eu-west-2"), ARN, false],
    [KEY_ID, KEY_ID, false],
    ["alias/op", "arn:aws:kms:eu-west-1:111122223333:alias/op", false],
    // An alias and its key are in one account and Region.
    ["arn:aws:kms:eu-west-1:111122223333:alias/a/key/b", ARN, true],
    ["arn:aws:kms:eu-west-2:111122223333:alias/op", ARN, false],
    ["arn:aws:kms:eu-west-1:999999999999:alias/op", ARN, false],
    ["arn:aws-cn:kms:eu-west-1:111122223333:alias/op", ARN, false],
  ])("%s answered by %s: %s", (asked, answered, same) => {
    expect(isKeyArnFor(answered, asked)).toBe(same);
  });
});
