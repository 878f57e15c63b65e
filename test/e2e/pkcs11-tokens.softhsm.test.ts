import { createRemoteJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createJwksEndpoint, createKeySet, type GuardedSigner, type KeySet, openSigner, signJwt } from "@signpost/core";
import { pkcs11 } from "@signpost/pkcs11";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { type LoopbackServer, startLoopbackServer } from "./support/loopback-server.ts";

let hsm: SoftHsm;
let server: LoopbackServer;
let signers: readonly GuardedSigner[];
let keys: KeySet;
let jwksUri: URL;
let issuer: string;

const setOf = (...ordered: readonly (GuardedSigner | undefined)[]): KeySet =>
  createKeySet(ordered.flatMap((signer) => (signer === undefined ? [] : [{ signer }])));

beforeAll(async () => {
  hsm = await startSoftHsm();
  for (const [label, id] of [
    ["sig-2026", "01"],
    ["sig-2027", "02"],
  ] as const) {
    await hsm.generateKey({ label, id });
  }
  const adapter = pkcs11({ module: hsm.module, pin: hsm.pin });
  signers = await Promise.all(
    ["sig-2026", "sig-2027"].map((object) => openSigner(`pkcs11:token=${hsm.tokenLabel};object=${object}`, [adapter])),
  );
  keys = setOf(signers[0], signers[1]);
  server = await startLoopbackServer((request, response) => endpoint.listener(request, response));
  issuer = server.origin;
  const endpoint = createJwksEndpoint({ issuer, keys: () => keys });
  jwksUri = new URL(endpoint.jwksUri);
});
afterAll(async () => {
  await server.close();
  await Promise.all(signers.map((signer) => signer.close()));
  await hsm.stop();
});

test("tokens signed inside a PKCS#11 token verify by the published set, before and after a rotation to its second key", async () => {
  const remote = createRemoteJWKSet(jwksUri, { cooldownDuration: 0 });
  const sign = (): Promise<string> => signJwt(() => keys, { iss: issuer, sub: "u1", aud: "rp" }, { typ: "at+jwt" });
  const before = await Promise.all(Array.from({ length: 20 }, sign));
  keys = setOf(signers[1], signers[0]);
  const after = await Promise.all(Array.from({ length: 20 }, sign));

  const kidOf = async (token: string): Promise<string | undefined> =>
    (await jwtVerify(token, remote, { issuer, audience: "rp", algorithms: ["ES256"], typ: "at+jwt" })).protectedHeader
      .kid;
  expect(new Set(await Promise.all(before.map(kidOf)))).toEqual(new Set([keys.keys[1]?.keyId]));
  expect(new Set(await Promise.all(after.map(kidOf)))).toEqual(new Set([keys.keys[0]?.keyId]));
});
