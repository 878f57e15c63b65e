import { describe, expect, test } from "vitest";
import { createJwksEndpoint, createKeySet, type JwksEndpoint, type KeySet } from "@signpost/core";
import { publishedKeys, requirePublished } from "@signpost/core/adapter";
import { newP256Jwk, publishingSigner } from "../support/key-fixtures.ts";

const issuer = "https://op.example";

function setOf(keyId: string): KeySet {
  return createKeySet([{ keyId, signer: publishingSigner(newP256Jwk()) }]);
}

describe("the keys that an endpoint publishes", () => {
  let current = setOf("a");
  const endpoint: JwksEndpoint = createJwksEndpoint({ issuer, keys: () => current });

  test("are those of its document, and are parsed once", () => {
    expect(publishedKeys(endpoint)).toMatchObject([{ kid: "a", kty: "EC", use: "sig" }]);
    expect(publishedKeys(endpoint)).toBe(publishedKeys(endpoint));
  });

  test("follow the document", () => {
    current = setOf("b");
    expect(publishedKeys(endpoint)).toMatchObject([{ kid: "b" }]);
  });

  test("are none while it has no document", () => {
    const failing = createJwksEndpoint({
      issuer,
      keys: () => {
        throw new Error("the source fails");
      },
    });
    expect(publishedKeys(failing)).toEqual([]);
  });
});

describe("a key that must not sign, because it is not published", () => {
  test("has another kid, or another key under the same kid", () => {
    const published = setOf("a");
    const endpoint = createJwksEndpoint({ issuer, keys: published });
    expect(() => requirePublished(endpoint, published.active)).not.toThrow();
    for (const { active } of [setOf("b"), setOf("a")]) {
      expect(() => requirePublished(endpoint, active)).toThrow("endpoint: must be created with the same keys");
    }
  });
});
