const LEAST_NEGATIVE_INT = BigInt.asUintN(64, -(2n ** 31n));

/**
 * A CK_RV. Those of the standard are small numbers. Above 2^53 it is a bigint, or a number that pkcs11js has rounded: its errors
 * have a number, and only few calls have an error with the digits.
 */
export type CkrCode = number | bigint;

/** A CKR code, with the function that returned it. */
export class CryptokiError extends Error {
  readonly call: string;
  readonly code: CkrCode;
  /** The gate's generation when a command failed with it. */
  generation: number | undefined;

  constructor(call: string, code: CkrCode) {
    super(`${call}: ${code}`);
    this.call = call;
    this.code = code;
  }
}

/**
 * Runs one Cryptoki function. pkcs11js throws errors of several classes, some with the CKR code only in
 * the message (`CKR_SESSION_HANDLE_INVALID:179`): the number is the only thing that is the same everywhere.
 */
export function cryptoki<Result>(call: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new CryptokiError(call, code);
  }
}

/** The CKR code, or undefined when `run` succeeded. Rethrows other errors. */
export function codeFrom(run: () => unknown): CkrCode | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    const code = error instanceof CryptokiError ? error.code : codeOf(error);
    if (code === undefined) throw error;
    return code;
  }
}

function codeOf(error: unknown): CkrCode | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = "code" in error ? error.code : undefined;
  if (typeof code === "number" && code !== 0) return code;
  const match = /^CKR_\w+:(\d+)/.exec(error.message);
  return match?.[1] === undefined ? undefined : exactCode(BigInt(match[1]));
}

/** A CK_RV has 64 bits on most systems. Some modules return a negative int, whose upper bits are all 1: here, it keeps 32 bits. */
function exactCode(given: bigint): CkrCode {
  const code = given >= LEAST_NEGATIVE_INT ? BigInt.asUintN(32, given) : given;
  return code > Number.MAX_SAFE_INTEGER ? code : Number(code);
}
