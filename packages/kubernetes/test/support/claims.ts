/** The issuer of every test. */
export const ISSUER = "https://kubernetes.default.svc";

/** Claims as kube-apiserver writes them, in base64url. A member that is undefined is left out. */
export function claimsOf(members: Readonly<Record<string, unknown>> = {}): string {
  const iat = Math.floor(Date.now() / 1000);
  return encoded({
    aud: [ISSUER],
    exp: iat + 600,
    iat,
    iss: ISSUER,
    jti: "0c6f1b0c-2d5b-4a2c-9c57-6f9f0f9a6c11",
    nbf: iat,
    sub: "system:serviceaccount:default:builder",
    ...members,
  });
}

/** A value as JSON in base64url. */
export function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
