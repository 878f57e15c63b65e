import { describe, expect, test } from "vitest";
import { isKeyArn, isKeyArnFor, looksLikeAlias, parseKeyName, regionIn } from "../src/key-name.ts";

describe("the name of a key", () => {
  const UUID = "1234abcd-12ab-34cd-56ef-1234567890ab";
  const ARN = `arn:aws:kms:eu-west-1:111122223333:key/${UUID}`;
  const ALIAS = "arn:aws:kms:eu-west-1:111122223333:alias/op/2026";

  test.each<[key: string, kind: string, region: string | undefined]>([
    [ARN, "key-arn", "eu-west-1"],
    [ARN.replace("aws", "aws-us-gov"), "key-arn", "eu-west-1"],
    [ALIAS, "alias-arn", "eu-west-1"],
    ["alias/op_2026-x/y", "alias", undefined],
    [UUID, "key-id", undefined],
  ])("%s is of the kind %s", (key, kind, region) => {
    const name = parseKeyName("key", key);
    expect([name.kind, regionIn(name)]).toEqual([kind, region]);
    expect(isKeyArn(key)).toBe(kind === "key-arn");
  });

  test.each<[key: string, isFor: boolean]>([
    [ARN, true],
    [ARN.replace("1234abcd", "1234abce"), false],
    [UUID, true],
    [UUID.replace("1234abcd", "1234abce"), false],
    [ALIAS, true],
    [ALIAS.replace("eu-west-1", "eu-west-2"), false],
    [ALIAS.replace("111122223333", "111122223334"), false],
    ["alias/op", true],
  ])("%s can be that of the answer's key: %s", (key, isFor) => {
    expect(isKeyArnFor(ARN, key)).toBe(isFor);
    expect([isKeyArnFor(ALIAS, key), isKeyArnFor("x", key)]).toEqual([false, false]);
  });

  test.each<[key: string, isAlias: boolean]>([
    [UUID, false],
    [UUID.toUpperCase(), false],
    [`mrk-${"0".repeat(32)}`, false],
    [`mrk-${"0".repeat(31)}`, true],
    [`${UUID}0`, true],
    ["op-2026", true],
    ["alias/op", false],
  ])("%s is probably meant as an alias: %s", (key, isAlias) => {
    expect(looksLikeAlias(key)).toBe(isAlias);
  });
});
