import { createRemoteJWKSet, errors, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createJwksEndpoint, createKeySet, type JwksEndpoint, type KeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type LoopbackServer, startLoopbackServer } from "./support/loopback-server.ts";

let server: LoopbackServer;
let endpoint: JwksEndpoint;
let keys: KeySet;
let issuer = "";

beforeAll(async () => {
  server = await startLoopbackServer((req, res) => endpoint.listener(req, res));
  issuer = server.origin;
  keys = createKeySet([{ signer: await openLocalSigner() }, { signer: await openLocalSigner() }]);
  endpoint = createJwksEndpoint({ issuer, mountPrefix: "/oidc", keys: () => keys });
});
afterAll(() => server.close());

const verify = (token: string) => jwtVerify(token, createRemoteJWKSet(new URL(endpoint.jwksUri)), { issuer });

describe("jose's remote key set, over HTTP against our endpoint", () => {
  test.each([
    ["an ID token", { aud: "rp", nonce: "n" }, undefined],
    ["a JWT access token", { aud: "api", client_id: "rp", jti: "1" }, "at+jwt"],
    ["a logout token", { aud: "rp", jti: "2", events: {} }, "logout+jwt"],
  ])("verifies %s", async (_name, claims, typ) => {
    const token = await signJwt(keys, { iss: issuer, sub: "248289", ...claims }, { typ });
    const { payload, protectedHeader } = await verify(token);
    expect(payload).toMatchObject(claims);
    expect(protectedHeader).toEqual({ alg: "ES256", kid: keys.active.keyId, ...(typ === undefined ? {} : { typ }) });
  });

  test("refuses a token with any one bit of its signature flipped", async () => {
    const token = await signJwt(keys, { iss: issuer });
    const [header, payload, signature = ""] = token.split(".");
    const getKey = createRemoteJWKSet(new URL(endpoint.jwksUri));
    for (let bit = 0; bit < 512; bit += 1) {
      const bytes = Buffer.from(signature, "base64url");
      bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const flipped = `${header}.${payload}.${bytes.toString("base64url")}`;
      await expect(jwtVerify(flipped, getKey)).rejects.toBeInstanceOf(errors.JWSSignatureVerificationFailed);
    }
  });

  test("refuses a token of a key that is not published", async () => {
    const others = createKeySet([{ signer: await openLocalSigner() }]);
    const refused = verify(await signJwt(others, { iss: issuer }));
    await expect(refused).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
  });

  test("follows a rotation: tokens of both keys verify", async () => {
    const before = await signJwt(keys, { iss: issuer });
    const retiring = keys.keys.map(({ keyId, publicKey }) => ({ keyId, publicKey }));
    keys = createKeySet([{ signer: await openLocalSigner() }, ...retiring]);
    const after = await signJwt(keys, { iss: issuer });
    await verify(before);
    await verify(after);
  });
});
