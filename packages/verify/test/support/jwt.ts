import { createJwtVerifier, createStaticKeySet } from "@signpost/verify";
import type {
  AccessTokenVerifier,
  AccessTokenVerifierOptions,
  IdTokenVerifier,
  IdTokenVerifierOptions,
} from "@signpost/verify";
import { testKey } from "./keys.ts";
import { es256, rawJws } from "./raw-jws.ts";

/** What the tests of the JWT verifier share: an OP, a client, a resource server, and a time. */
export const ISSUER = "https://op.example";
export const CLIENT = "client-1";
export const API = "https://api.example";
export const NOW = 1_800_000_000;

export const key = testKey("k");
export const keys = createStaticKeySet({ keys: [key.jwk] });

export const ID_CLAIMS = { iss: ISSUER, aud: CLIENT, sub: "s", iat: NOW, exp: NOW + 300 };
export const ACCESS_CLAIMS = { ...ID_CLAIMS, aud: API, client_id: "c", jti: "j" };

export function idTokens(options: Partial<IdTokenVerifierOptions> = {}): IdTokenVerifier {
  return createJwtVerifier({
    type: "id_token",
    issuer: ISSUER,
    audience: CLIENT,
    keys,
    now: () => NOW * 1000,
    ...options,
  });
}

export function accessTokens(options: Partial<AccessTokenVerifierOptions> = {}): AccessTokenVerifier {
  return createJwtVerifier({
    type: "access_token",
    issuer: ISSUER,
    audience: API,
    keys,
    now: () => NOW * 1000,
    ...options,
  });
}

type Members = Readonly<Record<string, unknown>>;

/** A token with other claims or header members. `undefined` leaves one out. */
export function idToken(claims: Members = {}, header: Members = {}): string {
  return rawJws({ alg: "ES256", kid: "k", ...header }, { ...ID_CLAIMS, ...claims }, es256(key.privateKey));
}

export function accessToken(claims: Members = {}, header: Members = {}): string {
  return rawJws(
    { alg: "ES256", kid: "k", typ: "at+jwt", ...header },
    { ...ACCESS_CLAIMS, ...claims },
    es256(key.privateKey),
  );
}
