import { createPublicKey } from "node:crypto";
import { createLocalJWKSet, exportJWK, jwtVerify, type JWTPayload } from "jose";
import type { KeysAnswer, SignAnswer } from "./grpc-client.ts";

/** Verifies a token with jose and the keys of an answer to FetchKeys, as a relying party would. */
export async function verifyWith(
  { keys }: KeysAnswer,
  claims: string,
  { header, signature }: SignAnswer,
): Promise<JWTPayload> {
  const jwks = await Promise.all(
    keys.map(async ({ keyId, key }) => ({
      ...(await exportJWK(createPublicKey({ key, format: "der", type: "spki" }))),
      kid: keyId,
    })),
  );
  const { payload } = await jwtVerify(`${header}.${claims}.${signature}`, createLocalJWKSet({ keys: jwks }));
  return payload;
}
