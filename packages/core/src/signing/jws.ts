import type { CertificateMember } from "../certificate/read-certificates.ts";
import { ConfigurationError, SignerError } from "../errors.ts";
import { encodeBase64url } from "../encoding/base64url.ts";
import { currentKeySet, isStillPublished } from "../keyset/source.ts";
import type { ActiveKey, KeySetSource } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { copiedBytes } from "../options/copied-bytes.ts";
import { given } from "../given.ts";
import { readChoice } from "../options/read-values.ts";
import { encodeHeader, encodeText } from "./header.ts";
import { requireSameKey } from "./header-key.ts";
import { type JsonObject, toJsonObject } from "./json.ts";
import { SIGN_WITH_OPTIONS, signInput, type SignWithOptions } from "./sign-with.ts";

/** Options of `signJws`. */
export interface SignJwsOptions extends SignWithOptions {
  /** Header `typ` (RFC 7515 section 4.1.9), for example `at+jwt`. Default none. */
  readonly typ?: string | undefined;
  /** Header `cty` (RFC 7515 section 4.1.10). Default none. */
  readonly cty?: string | undefined;
  /**
   * Shows the certificates of the key that signs: its chain (`x5c`, RFC 7515 section 4.1.6), or the thumbprint of its
   * certificate (`x5t#S256`, section 4.1.8). The entry of the key must have `certificates`. Default none.
   */
  readonly certificates?: CertificateMember | undefined;
  /**
   * `false` leaves `kid` out of the header, for verifiers that refuse a `kid` next to `x5c`. Only with `certificates: "x5c"`,
   * since the header must name the key. Default: the `kid` of the key that signs.
   */
  readonly kid?: false | undefined;
  /**
   * Other header members, except `alg` and `kid`, which Signpost sets, and `crit` and `b64`, which it does not support. `x5c` and
   * `jwk` must have the public key that signs, since a verifier uses what is there. Default none.
   */
  readonly header?: Readonly<Record<string, unknown>> | undefined;
}

export const SIGN_JWS_OPTIONS: OptionNames<SignJwsOptions> = {
  ...SIGN_WITH_OPTIONS,
  typ: true,
  cty: true,
  certificates: true,
  kid: true,
  header: true,
};

const CERTIFICATE_MEMBERS: readonly CertificateMember[] = ["x5c", "x5t#S256"];

// `crit` would promise extensions that Signpost does not apply. `b64` would change the signing input (RFC 7797).
const REFUSED_HEADER_MEMBERS = ["alg", "kid", "crit", "b64"];

/**
 * Signs a compact JWS (RFC 7515 section 7.1) with the active key of the set. The header has `alg` and `kid`, then `typ`,
 * `cty`, the caller's members and the certificates of the key, if you ask for them. Header, signature and verification use the
 * same entry, even if the source changes its set meanwhile. If the key is withdrawn while it signs (an emergency), the token is signed again with the new active key.
 *
 * @param payload bytes, or a string, which is encoded as UTF-8.
 * @throws ConfigurationError for an invalid argument, and `no_certificates`; SignerError if no valid signature was made.
 * @example
 * ```ts
 * import { createKeySet, signJws } from "@signpost/core";
 * import { openLocalSigner } from "@signpost/local";
 *
 * const keys = createKeySet([{ signer: await openLocalSigner() }]);
 * const jws = await signJws(keys, "text", { typ: "example+jws", cty: "text/plain" });
 * ```
 */
export function signJws(
  keys: KeySetSource,
  payload: Uint8Array | string,
  options: SignJwsOptions = {},
): Promise<string> {
  return signPayload(keys, options, () => {
    assertOptions("options", options, SIGN_JWS_OPTIONS);
    return encodePayload(payload);
  });
}

/** Same as `signJws`. `makeBody` checks the names of the options, and makes the payload in base64url. It may throw. */
export async function signPayload(
  keys: KeySetSource,
  options: SignJwsOptions,
  makeBody: () => string,
): Promise<string> {
  const body = makeBody();
  // Read once, so that a second try with the next key signs the same token, even if the caller has changed the options.
  const { verify, signal } = options;
  const members = headerMembers(options);
  const certificates = readCertificateMember(options, members);
  const hasKid = readHasKid(options);
  for (let attempts = 1; attempts <= MAX_KEYS_TRIED; attempts += 1) {
    const { active } = currentKeySet(keys);
    requireSameKey(members, active);
    const header = encodeHeader(active, hasKid, { ...members, ...shown(active, certificates) });
    const input = `${header}.${body}`;
    let signed: Signed;
    try {
      signed = { signature: await signInput(active, Buffer.from(input, "latin1"), { verify, signal }) };
    } catch (error) {
      signed = { error };
    }
    const published = stillPublished(keys, active, signed);
    if (published && "signature" in signed) return `${input}.${encodeBase64url(signed.signature)}`;
    // The failure of a revoked key says nothing about the next one.
    if ("error" in signed && (published || isOver(signal))) throw signed.error;
  }
  throw new SignerError("unavailable", "each key was withdrawn before it returned its signature");
}

const NONE: JsonObject = {};

type Signed = { readonly signature: Uint8Array } | { readonly error: unknown };

/** A key that was revoked meanwhile is no longer in the set. A retiring key still is. */
function stillPublished(keys: KeySetSource, active: ActiveKey, signed: Signed): boolean {
  try {
    return isStillPublished(currentKeySet(keys), active);
  } catch (cause) {
    // The signer failed first, and its error says more about this token than the error of the source.
    throw "error" in signed ? signed.error : cause;
  }
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** The active key, and the one that replaced it while it signed. */
const MAX_KEYS_TRIED = 2;

/** All header members except `alg` and `kid`, which depend on the key. */
function headerMembers({ typ, cty, header }: SignJwsOptions): JsonObject {
  if (header === undefined) return { ...mediaType("typ", typ, NONE), ...mediaType("cty", cty, NONE) };
  const members = toJsonObject("header", header);
  for (const name of REFUSED_HEADER_MEMBERS) {
    if (Object.hasOwn(members, name))
      throw new ConfigurationError(
        `header.${name}`,
        "not allowed: Signpost sets alg and kid, and does not support crit and b64",
      );
  }
  return { ...mediaType("typ", typ, members), ...mediaType("cty", cty, members), ...members };
}

function readCertificateMember({ certificates }: SignJwsOptions, members: JsonObject): CertificateMember | undefined {
  if (certificates === undefined) return undefined;
  const member = readChoice("certificates", certificates, CERTIFICATE_MEMBERS);
  if (!Object.hasOwn(members, member)) return member;
  throw new ConfigurationError(`header.${member}`, "not allowed together with the option certificates");
}

function readHasKid({ kid, certificates }: SignJwsOptions): boolean {
  if (kid === undefined) return true;
  if (kid !== false) throw new ConfigurationError("kid", `expected false or undefined, got ${given(kid)}`);
  if (certificates === "x5c") return false;
  throw new ConfigurationError("kid", 'expected certificates: "x5c" with false, since the header must name the key');
}

/** The header member with the certificates of the key that signs. */
function shown(
  { keyId, certificates }: ActiveKey,
  member: CertificateMember | undefined,
): Partial<Record<CertificateMember, string | readonly string[]>> {
  if (member === undefined) return {};
  if (certificates !== undefined) return { [member]: certificates[member] };
  const problem = `the active key ${JSON.stringify(keyId)} has none: give its entry the member certificates`;
  throw new ConfigurationError("certificates", problem, { code: "no_certificates" });
}

function mediaType(name: "typ" | "cty", value: unknown, members: object): Record<string, string> {
  if (value === undefined) return {};
  if (typeof value !== "string" || value === "") {
    throw new ConfigurationError(name, `expected a non-empty string, got ${given(value)}`);
  }
  if (Object.hasOwn(members, name))
    throw new ConfigurationError(`header.${name}`, `not allowed together with the option ${name}`);
  return { [name]: value };
}

/** A payload in base64url. */
export function encodePayload(payload: unknown): string {
  const bytes = copiedBytes(payload);
  if (bytes !== undefined) return encodeBase64url(bytes);
  // A lone surrogate has no UTF-8 encoding, so the verifier would get a different text.
  if (typeof payload === "string" && payload.isWellFormed()) return encodeText(payload);
  throw new ConfigurationError("payload", `expected a Uint8Array or a well-formed string, got ${given(payload)}`);
}
