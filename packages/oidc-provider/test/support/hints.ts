import type { KeyObject } from "node:crypto";
import { type JWTHeaderParameters, SignJWT } from "jose";
import { browser, type Op, REDIRECT_URI } from "./op.ts";

export const HINT_CLIENT = {
  client_id: "rp",
  client_secret: "only for this test",
  redirect_uris: [REDIRECT_URI],
  post_logout_redirect_uris: [REDIRECT_URI],
};

/** An ID token that expired in 2023. */
export async function hint(issuer: string, keyId: string, privateKey: KeyObject, alg = "ES256"): Promise<string> {
  return hintWith({ alg, kid: keyId }, issuer, privateKey);
}

/** The same under any header, and with other claims if given. */
export async function hintWith(
  header: { alg: string; kid?: unknown; typ?: unknown },
  issuer: string,
  key: KeyObject,
  audience = HINT_CLIENT.client_id,
  claims: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const usual = { sub: "248289", iss: issuer, aud: audience, iat: 1_700_000_000, exp: 1_700_000_300 };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader(header as JWTHeaderParameters).sign(key);
}

export async function accepted(op: Op, token: string): Promise<boolean> {
  const end = new URL(`${op.issuer}/session/end`);
  end.searchParams.set("id_token_hint", token);
  const answer = await browser(op.issuer)(end);
  return answer instanceof URL || answer.status === 200;
}
