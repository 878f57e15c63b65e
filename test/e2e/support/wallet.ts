import { createHash, randomBytes } from "node:crypto";
import type { JwtSignerJwk } from "@openid4vc/oauth2";
import { Openid4vciClient } from "@openid4vc/openid4vci";
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";

export interface Taken {
  readonly credential: string;
  readonly walletKey: object;
  /** Sends the same proof, with the same nonce, a second time. */
  again(): Promise<unknown>;
}

/** A wallet with a key, which takes one offer of an issuer. The issuer may be behind another address than its name. */
export async function takeCredential(issuer: string, address: string = issuer): Promise<Taken> {
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
      fetch: (resource, init) => {
        const url = resource instanceof Request ? resource.url : resource.toString();
        return fetch(url.replace(issuer, address), init);
      },
    },
  });
  const { credentialOffer } = (await (await fetch(`${address}/offer`)).json()) as { credentialOffer: string };
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
