/** The key that an algorithm needs. */
interface AlgorithmKey {
  readonly kty: string;
  readonly crvs?: readonly string[];
  readonly use: "sig" | "enc";
}

const signs = (kty: string, ...crvs: readonly string[]): AlgorithmKey => ({ kty, crvs, use: "sig" });
const RSA_SIGNS: AlgorithmKey = { kty: "RSA", use: "sig" };
const RSA_ENCRYPTS: AlgorithmKey = { kty: "RSA", use: "enc" };
const EC_AGREES: AlgorithmKey = { kty: "EC", crvs: ["P-256", "P-384", "P-521", "X25519", "X448"], use: "enc" };

/** Algorithms with a public key (RFC 7518 sections 3.1 and 4.1, RFC 8037 section 3, RFC 8812 section 3.2, RFC 9864). */
const ALGORITHMS: ReadonlyMap<string, AlgorithmKey> = new Map([
  ...named(RSA_SIGNS, "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
  ...named(signs("EC", "P-256"), "ES256"),
  ...named(signs("EC", "P-384"), "ES384"),
  ...named(signs("EC", "P-521"), "ES512"),
  ...named(signs("EC", "secp256k1"), "ES256K"),
  ...named(signs("OKP", "Ed25519", "Ed448"), "EdDSA"),
  ...named(signs("OKP", "Ed25519"), "Ed25519"),
  ...named(signs("OKP", "Ed448"), "Ed448"),
  ...named(RSA_ENCRYPTS, "RSA1_5", "RSA-OAEP", "RSA-OAEP-256", "RSA-OAEP-384", "RSA-OAEP-512"),
  ...named(EC_AGREES, "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A192KW", "ECDH-ES+A256KW"),
]);

function named(key: AlgorithmKey, ...algs: readonly string[]): readonly (readonly [string, AlgorithmKey])[] {
  return algs.map((alg) => [alg, key]);
}

/** Algorithms without a public key. */
const SECRET_KEY = /^(?:none|HS\d+|dir|A\d+(?:GCM)?KW|PBES2-.*)$/;

/** Whether an algorithm can be used with the key of an entry. */
export function algorithmFits(
  alg: string,
  { kty, crv }: Readonly<Record<string, unknown>>,
  use: unknown,
): "fits" | "other-key" | "other-use" | "unknown" {
  const needed = ALGORITHMS.get(alg);
  if (needed === undefined) return SECRET_KEY.test(alg) ? "other-key" : "unknown";
  // Key agreement also works on the curves of OKP.
  const hasType = kty === needed.kty || (alg.startsWith("ECDH-ES") && kty === "OKP");
  const hasCurve = needed.crvs === undefined || typeof crv !== "string" || needed.crvs.includes(crv);
  if (!hasType || !hasCurve) return "other-key";
  return use === "sig" || use === "enc" ? (use === needed.use ? "fits" : "other-use") : "fits";
}

/** Whether an algorithm encrypts or agrees on keys. */
export function isForKeys(alg: string): boolean {
  return ALGORITHMS.get(alg)?.use === "enc";
}

/** Whether an algorithm may be one that signs with the key of an entry. An unknown one may be. */
export function maySignWith(alg: string, members: Readonly<Record<string, unknown>>): boolean {
  const fit = algorithmFits(alg, members, "sig");
  return fit === "fits" || fit === "unknown";
}

/** Whether an entry could verify a signature of this algorithm. Undefined if the algorithm is not known here. */
export function verifiesAlgorithm(alg: string, members: Readonly<Record<string, unknown>>): boolean | undefined {
  const needed = ALGORITHMS.get(alg);
  if (needed?.use !== "sig") return undefined;
  const stated = members["alg"];
  return (stated === undefined || stated === alg) && algorithmFits(alg, members, members["use"]) === "fits";
}
