import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createJwksEndpoint, createKeySet, type KeySet, type Signer } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createTokenSigner, type TokenSigner } from "../src/token-signer.ts";

let signer: Signer;
let published: KeySet;
let expiries: unknown[];

beforeAll(async () => {
  signer = await openLocalSigner();
  published = createKeySet([{ keyId: "sig", signer }]);
});
afterAll(() => signer.close());

function tokenSigner(source: KeySet = published): TokenSigner {
  expiries = [];
  const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: published });
  return createTokenSigner({ source, endpoint, verify: "always", reportExpiry: (exp) => void expiries.push(exp) });
}

const headerOf = (jwt: string): unknown => JSON.parse(Buffer.from(jwt.split(".")[0] ?? "", "base64url").toString());

describe("a token of the host", () => {
  test("has the members of the host's header, its type and its content type", async () => {
    const jwt = await tokenSigner().sign({ sub: "a" }, { typ: "at+jwt", cty: "json", extra: 1 });
    expect(headerOf(jwt)).toEqual({ alg: "ES256", kid: "sig", typ: "at+jwt", cty: "json", extra: 1 });
  });

  test("needs no header, and its expiry is reported", async () => {
    const jwt = await tokenSigner().sign({ sub: "a", exp: 2_000_000_000 });
    expect(headerOf(jwt)).toEqual({ alg: "ES256", kid: "sig" });
    expect(expiries).toEqual([2_000_000_000]);
  });

  test.each([{ signingAlgorithm: "ES256" }, { signingKeyId: "sig" }, {}])("may be pinned to %j", async (pin) => {
    await expect(tokenSigner().sign({ sub: "a" }, {}, pin)).resolves.toBeTypeOf("string");
  });

  test.each([
    [{ signingAlgorithm: "RS256" }, "signingAlgorithm"],
    [{ signingKeyId: "another" }, "signingKeyId"],
  ])("is refused if a resource pins it to %j", async (pin, argument) => {
    await expect(tokenSigner().sign({ sub: "a" }, {}, pin)).rejects.toMatchObject({
      name: "ConfigurationError",
      argument,
    });
  });

  test("is not signed with a key that the endpoint does not publish, nor is a code spent for it", async () => {
    const other = await openLocalSigner();
    try {
      const tokens = tokenSigner(createKeySet([{ keyId: "other", signer: other }]));
      await expect(tokens.sign({ sub: "a" })).rejects.toMatchObject({ name: "ConfigurationError" });
      await expect(tokens.requireSigning()).rejects.toMatchObject({ name: "ConfigurationError" });
    } finally {
      await other.close();
    }
  });
});
