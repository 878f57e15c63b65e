import { type AuthorizationServerMetadata, Oauth2AuthorizationServer } from "@openid4vc/oauth2";
import { type IssuerMetadataResult, Openid4vciIssuer, Openid4vciVersion } from "@openid4vc/openid4vci";
import type { Callbacks } from "./callbacks.ts";

export const CONFIGURATION = "person";

export interface Metadata {
  readonly issuer: IssuerMetadataResult;
  readonly server: AuthorizationServerMetadata;
}

/** An issuer of one kind of credential, which is its own authorization server. */
export function createMetadata(url: string, callbacks: Callbacks): Metadata {
  const issuer = new Openid4vciIssuer({ callbacks });
  const credentialIssuer = issuer.createCredentialIssuerMetadata({
    credential_issuer: url,
    credential_endpoint: `${url}/credential`,
    nonce_endpoint: `${url}/nonce`,
    credential_configurations_supported: {
      [CONFIGURATION]: {
        format: "dc+sd-jwt",
        vct: `${url}/person`,
        cryptographic_binding_methods_supported: ["jwk"],
        credential_signing_alg_values_supported: ["ES256"],
        proof_types_supported: { jwt: { proof_signing_alg_values_supported: ["ES256"] } },
        credential_metadata: {},
      },
    },
  });
  const server = new Oauth2AuthorizationServer({ callbacks }).createAuthorizationServerMetadata({
    issuer: url,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/jwks`,
    "pre-authorized_grant_anonymous_access_supported": true,
  });
  const knownCredentialConfigurations = issuer.getKnownCredentialConfigurationsSupported(credentialIssuer);
  return {
    issuer: {
      originalDraftVersion: Openid4vciVersion.V1,
      credentialIssuer,
      authorizationServers: [server],
      knownCredentialConfigurations,
    },
    server,
  };
}
