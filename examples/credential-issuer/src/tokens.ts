import {
  Oauth2AuthorizationServer,
  Oauth2ErrorCodes,
  Oauth2ServerErrorResponseError,
  preAuthorizedCodeGrantIdentifier,
} from "@openid4vc/oauth2";
import { Openid4vciIssuer } from "@openid4vc/openid4vci";
import type { InputSigner } from "@signpost/core";
import { type Callbacks, randomText } from "./callbacks.ts";
import { CONFIGURATION, type Metadata } from "./metadata.ts";
import { remember } from "./one-time.ts";

/** A request of a wallet. */
export interface WalletRequest {
  readonly method: "POST";
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface Tokens {
  /** What a wallet scans. A real issuer makes one for an end-user that it has identified. */
  offer(): Promise<object>;
  /** The access token for the code in an offer. Each code is good for one. */
  token(request: WalletRequest): Promise<object>;
}

const TOKEN_SECONDS = 300;

/** The pre-authorized code flow of OpenID4VCI 1.0. Codes are in memory. */
export function createTokens(url: string, metadata: Metadata, own: InputSigner, callbacks: Callbacks): Tokens {
  const server = new Oauth2AuthorizationServer({ callbacks });
  const issuer = new Openid4vciIssuer({ callbacks });
  const codes = new Set<string>();
  return {
    offer: () => {
      const code = randomText();
      remember(codes, code);
      return issuer.createCredentialOffer({
        issuerMetadata: metadata.issuer,
        credentialConfigurationIds: [CONFIGURATION],
        grants: { [preAuthorizedCodeGrantIdentifier]: { "pre-authorized_code": code } },
      });
    },
    token: async (request) => {
      const parameters = Object.fromEntries(new URLSearchParams(request.body));
      const { grant } = server.parseAccessTokenRequest({ request, accessTokenRequest: parameters });
      if (grant.grantType !== preAuthorizedCodeGrantIdentifier || !codes.delete(grant.preAuthorizedCode)) {
        throw new Oauth2ServerErrorResponseError({ error: Oauth2ErrorCodes.InvalidGrant });
      }
      try {
        return await server.createAccessTokenResponse({
          authorizationServer: url,
          audience: url,
          subject: "ada",
          clientId: "wallet",
          expiresInSeconds: TOKEN_SECONDS,
          // The key that the header names. With a DID or a certificate, use another method of the library.
          signer: { method: "custom", alg: "ES256", kid: own.key().keyId },
        });
      } catch (error) {
        // It was not the wallet's fault, so it may try again.
        remember(codes, grant.preAuthorizedCode);
        throw error;
      }
    },
  };
}
