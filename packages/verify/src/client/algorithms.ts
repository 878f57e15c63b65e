/** Algorithms that an OP accepts for client assertions and request objects. Compared byte for byte. */
export const RP_SIGNING_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"] as const;

/** One of `RP_SIGNING_ALGORITHMS`. */
export type RpSigningAlgorithm = (typeof RP_SIGNING_ALGORITHMS)[number];
