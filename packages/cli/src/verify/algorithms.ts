// Also in @signpost/verify. It is repeated, because that package is loaded only when the command runs.

/** The algorithms that a verifier may accept. */
export const JWT_ALGORITHM_NAMES = [
  "ES256",
  "ES384",
  "ES512",
  "Ed25519",
  "EdDSA",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
] as const;

export type JwtAlgorithmName = (typeof JWT_ALGORITHM_NAMES)[number];
