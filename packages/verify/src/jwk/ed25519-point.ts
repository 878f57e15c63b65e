// Edwards25519 (RFC 8032 section 5.1): -x² + y² = 1 + d x² y² modulo p.
const P = 2n ** 255n - 19n;
const D = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n;

/**
 * Checks an encoded public key of 32 bytes. OpenSSL accepts any 32 bytes. With a point of small order, it accepts one constant
 * signature for every message.
 */
export function ed25519PointFault(encoded: Uint8Array): "malformed" | "small_order" | undefined {
  // Little-endian; the top bit is the sign of x, the rest is y.
  const y = BigInt(`0x${Buffer.from(encoded.toReversed()).toString("hex")}`) & (2n ** 255n - 1n);
  if (y >= P) return "malformed";
  const yy = (y * y) % P;
  if (isSmallOrder(y, yy)) return "small_order";
  // x² = u/v, which is a square exactly if u·v is one.
  const [u, v] = [yy - 1n, D * yy + 1n];
  return isSquare(modP(u * v)) ? undefined : "malformed";
}

/**
 * The eight points whose order divides 8: y is ±1 (order 1 and 2) or 0 (order 4), or doubling leads to y = 0, which by the
 * curve's equation is d y⁴ + 2 y² = 1 (order 8).
 */
function isSmallOrder(y: bigint, yy: bigint): boolean {
  return y === 0n || yy === 1n || modP(D * yy * yy + 2n * yy - 1n) === 0n;
}

/** Euler's criterion. */
function isSquare(value: bigint): boolean {
  let power = 1n;
  for (const bit of ((P - 1n) / 2n).toString(2)) {
    power = (power * power) % P;
    if (bit === "1") power = (power * value) % P;
  }
  return power !== P - 1n;
}

function modP(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}
