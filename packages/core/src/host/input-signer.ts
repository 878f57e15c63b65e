import { decodeBase64url } from "../encoding/base64url.ts";
import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { readOwnKeys } from "../keyset/own-keys.ts";
import type { ActiveKey, OwnKeys } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { copiedBytes } from "../options/copied-bytes.ts";
import { readChoice } from "../options/read-values.ts";
import { certifiedKey, hasPublicKey, requireSameKey } from "../signing/header-key.ts";
import { withinHookDeadline } from "../signing/hook-deadline.ts";
import { refuseLateExpiry, requireNumericDates } from "../signing/jwt.ts";
import { signWith, type SignWithOptions } from "../signing/sign-with.ts";
import { type FollowedKeys, followKeys } from "./followed-keys.ts";
import { readSigningInput } from "./signing-input.ts";

/** Options of `createInputSigner`. */
export interface InputSignerOptions {
  /** `"always"` (default) verifies each signature. `"first"` stops verifying after the first good one. */
  readonly verify?: SignWithOptions["verify"];
}

/** Signs what another library has put together. */
export interface InputSigner {
  /**
   * The key for the header of the next token: the active key. With a kid, the key of this kid, if it may still sign.
   *
   * @throws ConfigurationError if no key with this kid may sign; SignerError `unavailable` if it was withdrawn.
   */
  key(keyId?: string): ActiveKey;
  /**
   * Signs a JWS signing input, `header.payload` (RFC 7515 section 5.1), with the key that its header names. The header must
   * have `alg` ES256 and the `kid` of a key that may sign. Without a `kid`, its `x5c` or `jwk` names the key. Both parts must
   * be base64url without padding, except a payload with `b64: false`, which needs `crit: ["b64"]` (RFC 7797). If the header has `x5c` or `jwk`, these must
   * contain the public key of that key: `x5c` only certificates as base64 of DER, `jwk` no private member. If the payload is JSON, its `exp`, `nbf` and `iat` must be
   * numbers. Without `x5c`, an `exp` that is too late for the schedule is refused, as in `signJwt`, and one that is too late
   * for a previous key is rejected with SignerError `unavailable`: start the token again. Resolves with 64 bytes r‖s.
   */
  sign(signingInput: Uint8Array | string): Promise<Uint8Array>;
  /** Signs data without a JOSE header, or whose header has another name for the key. Resolves with 64 bytes r‖s. */
  signAs(keyId: string, data: Uint8Array): Promise<Uint8Array>;
}

/**
 * Signs for a library that builds the token, and only has a hook for the signature. Such a library writes the header first,
 * and has it signed later. If the keys rotate between the two, the key that the header names signs, as long as it is
 * published. After an emergency it is not, and the call rejects with SignerError `unavailable`: start the token again.
 *
 * Create it once, and read `key()` for each header. It only remembers one previous key.
 *
 * @throws ConfigurationError for an invalid argument, and what a source function or a schedule throws. The returned functions
 * reject with ConfigurationError for a header that does not fit the key, before anything is signed, and with SignerError if
 * no valid signature was made, also if a signer without a guard has not answered after 60 seconds.
 * @example
 * ```ts
 * import { createInputSigner, type RotationSchedule } from "@signpost/core";
 *
 * export function hookOf(keys: RotationSchedule) {
 *   const own = createInputSigner(keys);
 *   return {
 *     header: () => ({ alg: "ES256", kid: own.key().keyId }),
 *     signer: async (data: string) => Buffer.from(await own.sign(data)).toString("base64url"),
 *   };
 * }
 * ```
 */
export function createInputSigner(keys: OwnKeys, options: InputSignerOptions = {}): InputSigner {
  assertOptions("options", options, INPUT_SIGNER_OPTIONS);
  const { verify = "always" } = options;
  readChoice("verify", verify, ["always", "first"]);
  const { source } = readOwnKeys(keys);
  const followed = followKeys(source);
  const signWithKey = (key: ActiveKey, data: Uint8Array): Promise<Uint8Array> => {
    const signing = withinHookDeadline((signal) => signWith(key, data, { verify, signal }));
    return followed.whilePublished(key, signing);
  };
  return {
    key: (keyId) => (keyId === undefined ? followed.current().active : followed.signing(keyId)),
    sign: async (signingInput) => {
      // A copy, so that the header that is read is the one that is signed.
      const input = typeof signingInput === "string" ? Buffer.from(signingInput, "utf8") : copiedBytes(signingInput);
      if (input === undefined) {
        throw new ConfigurationError("signingInput", `expected a string or a Uint8Array, got ${given(signingInput)}`);
      }
      const { header, claims } = readSigningInput(input);
      const key = followed.signing(namedKey(header, followed));
      requireParts(input, header);
      requireSameKey(header, key);
      requireNumericDates(claims);
      // RPs verify with the certificate, and do not look for the key in the key set.
      if (header["x5c"] === undefined) refuseLateExpiry(source, claims["exp"], key.keyId);
      return signWithKey(key, input);
    },
    signAs: async (keyId, data) => signWithKey(followed.signing(keyId), data),
  };
}

const INPUT_SIGNER_OPTIONS: OptionNames<InputSignerOptions> = { verify: true };

/** The kid of the key that a verifier takes: the one in the header, or that of the certificate or public key in it. */
function namedKey({ alg, kid, x5c, jwk }: Readonly<Record<string, unknown>>, followed: FollowedKeys): string {
  if (alg !== "ES256") throw new ConfigurationError("header.alg", `expected "ES256", got ${given(alg)}`);
  if (typeof kid === "string") return kid;
  if (kid !== undefined || (x5c === undefined && jwk === undefined)) {
    throw new ConfigurationError("header.kid", `expected the kid of the key that signs, or x5c, got ${given(kid)}`);
  }
  const named = x5c === undefined ? jwk : certifiedKey(x5c);
  const found = followed.kidWhere(({ publicKey }) => hasPublicKey(named, publicKey));
  if (found !== undefined) return found;
  throw new ConfigurationError(
    x5c === undefined ? "header.jwk" : "header.x5c",
    "expected the public key of the active key or of the previous one",
  );
}

/** A verifier refuses everything else (RFC 7515 section 5.2), while our decoder and most others in Node accept it. */
function requireParts(input: Uint8Array, { b64, crit }: Readonly<Record<string, unknown>>): void {
  // RFC 7797 section 6. Without crit, a verifier that does not know b64 decodes the payload, and gets other claims.
  if (b64 === false && !(Array.isArray(crit) && crit.includes("b64"))) {
    throw new ConfigurationError("header.crit", 'expected a list that has "b64", since the header has b64: false');
  }
  const parts = Buffer.from(input).toString("latin1").split(".");
  // The payload of RFC 7797 is signed as it is, and may have dots.
  const encoded = b64 === false ? parts.slice(0, 1) : parts;
  if (parts.length >= 2 && encoded.length <= 2 && encoded.every((part) => decodeBase64url(part) !== undefined)) return;
  throw new ConfigurationError(
    "signingInput",
    "expected the header and the payload as base64url without padding, and a dot between them",
  );
}
