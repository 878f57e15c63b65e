import { createHash, createPrivateKey, createPublicKey, randomBytes, X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JwtSignerJwk, setGlobalConfig } from "@openid4vc/oauth2";
import { Openid4vciClient } from "@openid4vc/openid4vci";
import {
  compactVerify,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from "jose";
import { expect, onTestFinished, test } from "vitest";
import { certificateOf, selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { freePort } from "@signpost/test-backends/process";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { type ExampleProgram, startExample } from "./support/example-program.ts";

interface Taken {
  readonly credential: string;
  readonly walletKey: object;
  /** Sends the same proof, with the same nonce, a second time. */
  again(): Promise<unknown>;
}

/** A wallet with a key, which takes one offer of an issuer. */
async function takeCredential(issuer: string): Promise<Taken> {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const publicJwk = { ...(await exportJWK(publicKey)), kty: "EC" };
  const client = new Openid4vciClient({
    callbacks: {
      signJwt: async (_, { header, payload }) => {
        const protectedHeader = JSON.parse(JSON.stringify(header)) as JWTHeaderParameters;
        const claims = JSON.parse(JSON.stringify(payload)) as JWTPayload;
        const jwt = await new SignJWT(claims).setProtectedHeader(protectedHeader).sign(privateKey);
        return { jwt, signerJwk: publicJwk };
      },
      generateRandom: (length) => new Uint8Array(randomBytes(length)),
      hash: (data, alg) => new Uint8Array(createHash(alg.replace("-", "")).update(data).digest()),
      clientAuthentication: () => {},
      fetch,
    },
  });
  const { credentialOffer } = (await (await fetch(`${issuer}/offer`)).json()) as { credentialOffer: string };
  const offer = await client.resolveCredentialOffer(credentialOffer);
  const issuerMetadata = await client.resolveIssuerMetadata(offer.credential_issuer);
  const granted = await client.retrievePreAuthorizedCodeAccessTokenFromOffer({
    credentialOffer: offer,
    issuerMetadata,
  });
  const { c_nonce: nonce } = await client.requestNonce({ issuerMetadata });
  const signer: JwtSignerJwk = { method: "jwk", alg: "ES256", publicJwk };
  const credentialConfigurationId = "person";
  const { jwt } = await client.createCredentialRequestJwtProof({
    signer,
    nonce,
    issuedAt: new Date(),
    issuerMetadata,
    credentialConfigurationId,
  });
  const accessToken = granted.accessTokenResponse.access_token;
  const request = { issuerMetadata, credentialConfigurationId, accessToken, proofs: { jwt: [jwt] } } as const;
  const { credentialResponse } = await client.retrieveCredentials(request as never);
  const [{ credential } = { credential: "" }] = credentialResponse.credentials as { credential: string }[];
  return { credential, walletKey: publicJwk, again: () => client.retrieveCredentials(request as never) };
}

async function start(env: NodeJS.ProcessEnv): Promise<{ program: ExampleProgram; issuer: string }> {
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  const program = await startExample("credential-issuer", { env: { PORT: String(port), ISSUER: issuer, ...env } });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  return { program, issuer };
}

test("examples/credential-issuer gives a wallet a credential with x5c, signed in SoftHSM", async () => {
  const hsm = await startSoftHsm();
  onTestFinished(() => hsm.stop());
  const { publicKey } = await hsm.generateKey({ label: "issuer", id: "01" });
  const { cert: anchor, key } = selfSignedCertificate("ca.example");
  const chain = join(hsm.directory, "chain.pem");
  await writeFile(chain, certificateOf(publicKey, ["localhost"], createPrivateKey(key), "ca.example"));
  const pin = join(hsm.directory, "pin");
  await writeFile(pin, hsm.pin, { mode: 0o600 });
  const { program, issuer } = await start({
    ...hsm.env,
    CHAIN: chain,
    KEY: `pkcs11:token=${hsm.tokenLabel};object=issuer?module-path=${hsm.module}&pin-source=file:${pin}`,
  });

  setGlobalConfig({ allowInsecureUrls: true });
  const { credential, walletKey } = await takeCredential(issuer);
  const [jwt = "", ...disclosures] = credential.split("~");
  const { typ, x5c: [leaf = "", ...others] = [] } = decodeProtectedHeader(jwt);
  const certificate = new X509Certificate(Buffer.from(leaf, "base64"));
  await compactVerify(jwt, certificate.publicKey);
  expect(typ).toBe("dc+sd-jwt");
  expect(others).toEqual([]);
  expect(certificate.verify(createPublicKey(anchor))).toBe(true);
  expect(certificate.publicKey.equals(publicKey)).toBe(true);
  expect(decodeJwt(jwt)).toMatchObject({ iss: issuer, vct: `${issuer}/person`, cnf: { jwk: walletKey } });
  expect(disclosures.map((text) => (text ? JSON.parse(Buffer.from(text, "base64url").toString())[1] : ""))).toEqual([
    "given_name",
    "family_name",
    "",
  ]);
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});

test("without a certificate, verifiers find the key of the credential in the issuer's metadata", async () => {
  const { program, issuer } = await start({ KEY: "", CHAIN: "" });
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
