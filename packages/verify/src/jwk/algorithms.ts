/** The key that a JWS `alg` needs (RFC 7518 section 3.1, RFC 8037, RFC 9864). */
export interface AlgorithmKey {
  readonly kty: "RSA" | "EC" | "OKP";
  readonly crv: string | undefined;
}

const RSA: AlgorithmKey = { kty: "RSA", crv: undefined };
const ED25519: AlgorithmKey = { kty: "OKP", crv: "Ed25519" };

const ALGORITHMS: ReadonlyMap<string, AlgorithmKey> = new Map([
  ["RS256", RSA],
  ["RS384", RSA],
  ["RS512", RSA],
  ["PS256", RSA],
  ["PS384", RSA],
  ["PS512", RSA],
  ["ES256", { kty: "EC", crv: "P-256" }],
  ["ES384", { kty: "EC", crv: "P-384" }],
  ["ES512", { kty: "EC", crv: "P-521" }],
  ["EdDSA", ED25519],
  ["Ed25519", ED25519],
]);

/** RFC 9864 section 2.2: `EdDSA` does not name the curve. This package supports one curve, so both names mean the same. */
const SECOND_NAMES: ReadonlyMap<string, string> = new Map([["Ed25519", "EdDSA"]]);

/** Whether two names stand for one algorithm. */
export function isSameAlgorithm(a: string, b: string): boolean {
  return (SECOND_NAMES.get(a) ?? a) === (SECOND_NAMES.get(b) ?? b);
}

/** The comparison is byte for byte: `es256` and `none` are unknown. */
export function algorithmKey(alg: string): AlgorithmKey | undefined {
  return ALGORITHMS.get(alg);
}

const SERVED: readonly AlgorithmKey[] = [...ALGORITHMS.values()];

/** Whether there is an algorithm for keys of this type. */
export function servesKeyType(kty: string): boolean {
  return SERVED.some((key) => key.kty === kty);
}

/** Whether there is an algorithm for keys on this curve. RSA keys have no curve, so their `crv` is ignored. */
export function servesCurve(kty: string, crv: string): boolean {
  return SERVED.some((key) => key.kty === kty && (key.crv === undefined || key.crv === crv));
}
