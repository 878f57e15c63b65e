/** What an OP accepts of signatures that RPs made: client assertions and request objects. Byte-exact. */
export const RP_SIGNING_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"] as const;

/** One of them. */
export type RpSigningAlgorithm = (typeof RP_SIGNING_ALGORITHMS)[number];
