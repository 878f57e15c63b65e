import { createSign, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ecdsaDerToRaw, spkiToJwk } from "@signpost/core";
import { decodedAnswer, incompleteAnswer } from "@signpost/core/adapter";
import { thrownBy } from "../support/key-fixtures.ts";

test("an answer without a member may be whole the next time", () => {
  expect(incompleteAnswer("kms:Sign", "Signature")).toMatchObject({
    code: "integrity",
    transient: true,
    message: "kms:Sign was answered without Signature",
  });
});

describe("decodedAnswer", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = createSign("sha256").update("text").sign(privateKey);
  const other = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey;

  test("returns a member that decodes", () => {
    expect(decodedAnswer("Signature", () => ecdsaDerToRaw(der))).toHaveLength(64);
  });

  test.each([
    ["integrity", "cut short", () => ecdsaDerToRaw(der.subarray(0, 20))],
    ["bad_signature", "with r of zero", () => ecdsaDerToRaw(Buffer.from("3006020100020101", "hex"))],
    ["integrity", "of no key", () => spkiToJwk(Buffer.from("3000", "hex"))],
    ["unsupported_key", "of another curve", () => spkiToJwk(other.export({ format: "der", type: "spki" }))],
  ])("is %s for an answer %s", (code, _name, decode) => {
    const error = thrownBy(() => decodedAnswer<unknown>("Member", decode));
    expect(error).toMatchObject({ name: "SignerError", code, message: expect.stringMatching(/^Member: /) });
  });

  test("passes on any other error", () => {
    const error = new TypeError("a fault of the adapter");
    expect(
      thrownBy(() =>
        decodedAnswer("Member", () => {
          throw error;
        }),
      ),
    ).toBe(error);
  });
});
