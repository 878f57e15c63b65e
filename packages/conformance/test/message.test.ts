import { createHash, createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { assertSignature, assertSignatureByJose, isSignatureOver, newMessage, nodeKeyOf } from "../src/message.ts";
import { createTestKey } from "./reference.ts";

// What the checks sign, and how they verify it.

const key = createTestKey();
const nodeKey = createPublicKey({ key: { ...key.publicKey }, format: "jwk" });

test("a message is a JWS signing input with 24 random bytes, and its digest", () => {
  const [one, other] = [newMessage(), newMessage()];
  const text = Buffer.from(one.signingInput).toString();
  expect(text).toMatch(/^eyJhbGciOiJFUzI1NiJ9\.[\w-]{32}$/);
  expect(Buffer.from(other.signingInput).toString()).not.toBe(text);
  expect(Buffer.from(one.digest())).toEqual(createHash("sha256").update(text).digest());
  one.digest().fill(0);
  expect(Buffer.from(one.digest())).toEqual(createHash("sha256").update(text).digest());
});

describe("a signature", () => {
  const message = newMessage();
  const good = key.sign(message.digest());
  const complaint = (signature: unknown) => () =>
    assertSignature(nodeKeyOf(key.publicKey), message, signature, "the signature");

  test("is good if node:crypto and jose verify it", async () => {
    expect(verify("sha256", message.signingInput, { key: nodeKey, dsaEncoding: "ieee-p1363" }, good)).toBe(true);
    expect(complaint(good)).not.toThrow();
    expect(isSignatureOver(nodeKeyOf(key.publicKey), message, good)).toBe(true);
    await expect(assertSignatureByJose(key.publicKey, message, good, "it")).resolves.toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ["text", Buffer.from(good).toString("hex"), "the signature is not a Uint8Array"],
    ["an array of numbers", [...good], "the signature is not a Uint8Array"],
    ["63 bytes", good.subarray(1), "the signature has 63 bytes, expected 64 bytes r‖s"],
    ["65 bytes", Buffer.concat([good, good.subarray(0, 1)]), "the signature has 65 bytes, expected 64 bytes r‖s"],
    ["another message's", key.sign(newMessage().digest()), "the signature does not verify over its digest"],
    ["another key's", createTestKey().sign(message.digest()), "the signature does not verify over its digest"],
  ])("is refused if it is %s", async (_what, signature, expected) => {
    expect(complaint(signature)).toThrow(expected);
    expect(isSignatureOver(nodeKeyOf(key.publicKey), message, signature)).toBe(false);
    if (!(signature instanceof Uint8Array)) return;
    await expect(assertSignatureByJose(key.publicKey, message, signature, "it")).rejects.toMatchObject({
      message: "it does not verify with the signer's publicKey (jose)",
      cause: expect.objectContaining({ code: expect.stringMatching(/^ERR_JW/) }),
    });
  });
});
