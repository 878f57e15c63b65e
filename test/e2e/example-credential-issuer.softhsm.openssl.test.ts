import * as credo from "@credo-ts/core";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setGlobalConfig } from "@openid4vc/oauth2";
import { compactVerify, createRemoteJWKSet, decodeJwt, decodeProtectedHeader } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { startAgent } from "../../examples/credo/src/agent.ts";
import { signpostBackend } from "../../examples/credo/src/key-management.ts";
import { setUpIssuer, startIssuer } from "./support/credential-issuer.ts";
import { brokenHaipRules } from "./support/haip-rules.ts";
import { takeCredential } from "./support/wallet.ts";

test("examples/credential-issuer gives a wallet a credential of the HAIP profile, signed in SoftHSM", async () => {
  const issuer = "https://issuer.example";
  const folder = await setUpIssuer(issuer);
  const { program, address } = await startIssuer(folder.env);
  const { credential, walletKey } = await takeCredential(issuer, address);

  const [jwt = "", ...disclosures] = credential.split("~");
  const { typ, kid, x5c: [leaf = "", ...others] = [] } = decodeProtectedHeader(jwt);
  const certificate = new X509Certificate(await readFile(join(folder.path, "issuer.pem")));
  await compactVerify(jwt, certificate.publicKey);
  expect([typ, kid, leaf]).toEqual(["dc+sd-jwt", undefined, certificate.raw.toString("base64")]);
  expect(others).toHaveLength(1);
  expect(decodeJwt(jwt)).toMatchObject({ iss: issuer, vct: `${issuer}/person`, cnf: { jwk: walletKey } });
  expect(disclosures.map((text) => (text ? JSON.parse(Buffer.from(text, "base64url").toString())[1] : ""))).toEqual([
    "given_name",
    "family_name",
    "",
  ]);
  expect(brokenHaipRules(credential, folder.root)).toEqual([]);

  const agent = await startAgent(signpostBackend(createKeySet([{ signer: await openLocalSigner() }])), credo);
  onTestFinished(() => agent.shutdown());
  const verified = agent.sdJwtVc.verify({ compactSdJwtVc: credential, trustedCertificates: [folder.root] });
  expect(await verified).toMatchObject({ isValid: true });
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);

  for (const [chain, problem] of [
    ["root.pem", "invalid_certificate"],
    ["issuer.pem", "invalid_certificate"],
  ]) {
    const env = { ...folder.env, CHAIN: join(folder.path, chain ?? "") };
    await expect(startIssuer(env)).rejects.toThrow(problem);
  }
});

test("without a certificate, verifiers find the key of the credential in the issuer's metadata", async () => {
  const { program, address: issuer } = await startIssuer({ KEY: "", CHAIN: "", ROOT: "" });
  setGlobalConfig({ allowInsecureUrls: true });
  const { credential, again } = await takeCredential(issuer);
  await expect(again()).rejects.toMatchObject({
    response: { credentialErrorResponseResult: { data: { error: "invalid_nonce" } } },
  });
  const [jwt = ""] = credential.split("~");
  const { jwks_uri: jwksUri } = (await (await fetch(`${issuer}/.well-known/jwt-vc-issuer`)).json()) as {
    jwks_uri: string;
  };
  const { protectedHeader } = await compactVerify(jwt, createRemoteJWKSet(new URL(jwksUri)));
  expect(protectedHeader).toEqual({ alg: "ES256", typ: "dc+sd-jwt", kid: expect.any(String) });

  const post = (path: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${issuer}${path}`, { method: "POST", body, headers });
  const grant = "grant_type=urn:ietf:params:oauth:grant-type:pre-authorized_code&pre-authorized_code=unknown";
  const refused = await post("/token", grant);
  expect([refused.status, await refused.json()]).toEqual([400, { error: "invalid_grant" }]);
  const unauthorized = await post("/credential", "{}", { authorization: "Bearer a.b.c" });
  expect([unauthorized.status, await unauthorized.json()]).toEqual([401, { error: "invalid_token" }]);
  expect((await fetch(`${issuer}/other`)).status).toBe(404);
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});
