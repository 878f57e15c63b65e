import { decodeJwt, Oauth2ErrorCodes, Oauth2ServerErrorResponseError } from "@openid4vc/oauth2";
import { Openid4vciIssuer } from "@openid4vc/openid4vci";
import { SDJwtVcInstance } from "@sd-jwt/sd-jwt-vc";
import type { InputSigner, KeySetSource } from "@signpost/core";
import { createOwnKeySet, verifyOwnJwt } from "@signpost/verify";
import { type Callbacks, hash, randomText } from "./callbacks.ts";
import type { Metadata } from "./metadata.ts";
import { remember } from "./one-time.ts";
import { sdJwtHeader, sdJwtSigner } from "./sd-jwt.ts";
import type { WalletRequest } from "./tokens.ts";

export interface CredentialsOptions {
  readonly url: string;
  readonly metadata: Metadata;
  readonly keys: KeySetSource;
  readonly own: InputSigner;
  readonly callbacks: Callbacks;
}

export interface Credentials {
  /** For the proof of a wallet, which it can use once. */
  nonce(): object;
  /** A credential that is bound to the key in the proof. */
  credential(request: WalletRequest): Promise<object>;
}

const CREDENTIAL_SECONDS = 14 * 86_400;

/** Issues SD-JWT VCs to wallets with an access token of this issuer. Nonces are in memory. */
export function createCredentials({ url, metadata, keys, own, callbacks }: CredentialsOptions): Credentials {
  const issuer = new Openid4vciIssuer({ callbacks });
  const sdJwt = new SDJwtVcInstance({
    ...sdJwtSigner(own),
    hasher: (data, alg) => hash(typeof data === "string" ? Buffer.from(data) : new Uint8Array(data), alg),
    saltGenerator: randomText,
  });
  const keyFunction = createOwnKeySet(keys);
  const nonces = new Set<string>();

  /** The public key of the wallet, which it has proven to have. */
  async function proven(jwt: string): Promise<Record<string, unknown>> {
    const expectedNonce = decodeJwt({ jwt }).payload.nonce ?? "";
    if (!nonces.delete(expectedNonce)) {
      throw new Oauth2ServerErrorResponseError({ error: Oauth2ErrorCodes.InvalidNonce });
    }
    const options = { issuerMetadata: metadata.issuer, jwt, expectedNonce };
    const { signer } = await issuer.verifyCredentialRequestJwtProof(options);
    const { kty, crv, x, y } = signer.publicJwk;
    return { kty, crv, x, y };
  }

  return {
    nonce: () => {
      const cNonce = randomText();
      remember(nonces, cNonce);
      return issuer.createNonceResponse({ cNonce });
    },
    credential: async (request) => {
      const [, accessToken = ""] = /^Bearer (\S+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
      await verifyOwnJwt(accessToken, { purpose: "access_token", keyFunction, issuer: url, audience: url });
      const credentialRequest = issuer.parseCredentialRequest({
        issuerMetadata: metadata.issuer,
        credentialRequest: JSON.parse(request.body) as Record<string, unknown>,
      });
      const jwk = await proven(credentialRequest.proofs?.jwt?.[0] ?? "");
      const iat = Math.floor(Date.now() / 1000);
      const claims = {
        iss: url,
        iat,
        exp: iat + CREDENTIAL_SECONDS,
        vct: `${url}/person`,
        cnf: { jwk },
        given_name: "Ada",
        family_name: "Lovelace",
      };
      const disclosed = { _sd: ["given_name", "family_name"] } as const;
      const credential = await sdJwt.issue(claims, disclosed as never, { header: sdJwtHeader(own) });
      return issuer.createCredentialResponse({ credentialRequest, credentials: [{ credential }] });
    },
  };
}
