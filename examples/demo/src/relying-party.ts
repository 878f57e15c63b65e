import { createRemoteJWKSet, jwtVerify } from "jose";
import { API, CLIENT_ID, type Tokens } from "./op.ts";
import { show } from "./print.ts";

export interface RelyingParty {
  /** Verifies both tokens, or throws. */
  verifyTokens(tokens: Tokens): Promise<void>;
}

/** An independent RP. It finds the keys by discovery, and shares no code with the OP. */
export async function createRelyingParty(issuer: string): Promise<RelyingParty> {
  const response = await fetch(`${issuer}/.well-known/openid-configuration`);
  const { jwks_uri } = (await response.json()) as { jwks_uri: string };
  // No cooldown: for an unknown kid, jose fetches the set again immediately.
  const keys = createRemoteJWKSet(new URL(jwks_uri), { cooldownDuration: 0 });
  const common = { issuer, algorithms: ["ES256"] };

  return {
    verifyTokens: async ({ idToken, accessToken }) => {
      const id = await jwtVerify(idToken, keys, { ...common, audience: CLIENT_ID });
      show("ID token", `verified with ${id.protectedHeader.kid}, subject ${id.payload.sub}`);
      const access = await jwtVerify(accessToken, keys, { ...common, audience: API, typ: "at+jwt" });
      show(
        "access token",
        `verified with ${access.protectedHeader.kid}, client ${String(access.payload["client_id"])}`,
      );
    },
  };
}
