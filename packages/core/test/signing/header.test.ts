import { decodeProtectedHeader } from "jose";
import { describe, expect, test } from "vitest";
import { createKeySet, type KeySet, signJws, type SignJwsOptions, signWith } from "@signpost/core";
import { createSigner } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { scriptedSigner, signs } from "../support/scripted-signer.ts";

const AS_GIVEN: readonly (readonly [SignJwsOptions, object])[] = [
  [{}, {}],
  [{ typ: "at+jwt" }, { typ: "at+jwt" }],
  [{ typ: "JWT" }, { typ: "JWT" }],
  [{ cty: "JWT" }, { cty: "JWT" }],
  [
    { typ: "at+jwt", cty: "JWT" },
    { typ: "at+jwt", cty: "JWT" },
  ],
  [{ header: { iss: "a" } }, { iss: "a" }],
  [{ header: { iss: "b" } }, { iss: "b" }],
  [
    { typ: "at+jwt", header: { iss: "b" } },
    { typ: "at+jwt", iss: "b" },
  ],
  [{ header: { typ: "undefined" } }, { typ: "undefined" }],
  [{ header: { typ: 1 } }, { typ: 1 }],
  [{ header: { typ: "" } }, { typ: "" }],
];

function setOf(keyId: string): KeySet {
  return createKeySet([{ keyId, signer: scriptedSigner(signs, signs).signer }]);
}

async function headerOf(keys: KeySet, options: SignJwsOptions): Promise<object> {
  return decodeProtectedHeader(await signJws(keys, "text", options));
}

describe("the header of a token", () => {
  test("has the members of this call, whatever the calls before it had", async () => {
    const keys = setOf("sig-1");
    for (const [options, members] of [...AS_GIVEN, ...AS_GIVEN.toReversed()]) {
      expect(await headerOf(keys, options)).toEqual({ alg: "ES256", kid: "sig-1", ...members });
    }
  });

  test("names the key that signs, whatever key signed before with the same typ", async () => {
    for (const keyId of ["sig-1", "sig-2", "sig-1"]) {
      expect(await headerOf(setOf(keyId), { typ: "JWT" })).toEqual({ alg: "ES256", kid: keyId, typ: "JWT" });
    }
  });

  test("is right for more typs than are kept", async () => {
    const keys = setOf("sig-1");
    for (const number of [...Array(40).keys(), ...Array(40).keys()]) {
      expect(await headerOf(keys, { typ: `example-${number}` })).toMatchObject({ typ: `example-${number}` });
    }
  });
});

describe("signWith with a bare signer of an adapter", () => {
  const digests: string[] = [];
  const { signer: inner } = scriptedSigner(signs, signs);
  const bare = createSigner({
    uri: inner.uri,
    publicKey: inner.publicKey,
    signDigest: async (digest, { signingInput }) => {
      const signature = await inner.sign(digest);
      digests.push(Buffer.from(digest).toString("hex"));
      digest.fill(0);
      signingInput?.fill(0);
      return signature;
    },
    close: async () => {},
  });

  test("verifies the bytes that were hashed, even if the backend writes into what it gets", async () => {
    const { active } = createKeySet([{ signer: bare }]);
    expect(await signWith(active, Buffer.from("abc"))).toHaveLength(64);
    // FIPS 180-4, the example of one block.
    expect(digests).toEqual(["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]);
  });

  test("rejects with closed once it is closed", async () => {
    const { active } = createKeySet([{ signer: bare }]);
    await bare.close();
    expect(await failure(signWith(active, Buffer.from("abc")))).toMatchObject({ code: "closed", uri: inner.uri });
  });
});
