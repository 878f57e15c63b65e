import { ConfigurationError, SignerError } from "../errors.ts";
import { encodeBase64url } from "../encoding/base64url.ts";
import { currentKeySet, isStillPublished } from "../keyset/source.ts";
import type { ActiveKey, KeySetSource } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { copiedBytes } from "../options/copied-bytes.ts";
import { type JsonObject, toJsonObject } from "./json.ts";
import { SIGN_WITH_OPTIONS, signInput, type SignWithOptions } from "./sign-with.ts";

/** Options of `signJws`. */
export interface SignJwsOptions extends SignWithOptions {
  /** Header `typ` (RFC 7515 section 4.1.9), for instance `at+jwt`. Absent unless given. */
  readonly typ?: string | undefined;
  /** Header `cty` (RFC 7515 section 4.1.10). Absent unless given. */
  readonly cty?: string | undefined;
  /** Further header members. `alg` and `kid` are the key's, `crit` and `b64` are not supported: all four are refused. Default none. */
  readonly header?: Readonly<Record<string, unknown>> | undefined;
}

export const SIGN_JWS_OPTIONS: OptionNames<SignJwsOptions> = {
  ...SIGN_WITH_OPTIONS,
  typ: true,
  cty: true,
  header: true,
};

// `crit` would promise extensions that nobody here applies; `b64` would change the signing input (RFC 7797).
const REFUSED_HEADER_MEMBERS = ["alg", "kid", "crit", "b64"];

const encoder = new TextEncoder();

/**
 * A compact JWS (RFC 7515 section 7.1) by the active key of the set: header `alg` and `kid`, then `typ`,
 * `cty` and the caller's own members. Header, signature and verification come from one entry, even while
 * the source swaps its set. When the key is withdrawn while it signs (an emergency), the token is made once more by the
 * key that is active then.
 *
 * @param payload bytes, or a string that is encoded as UTF-8.
 * @throws ConfigurationError for a bad argument; SignerError when no good signature was made.
 * @example
 * ```ts
 * import { createKeySet, signJws } from "@signpost/core";
 * import { openLocalSigner } from "@signpost/local";
 *
 * const keys = createKeySet([{ signer: await openLocalSigner() }]);
 * const jws = await signJws(keys, "text", { typ: "example+jws", cty: "text/plain" });
 * ```
 */
export async function signJws(
  keys: KeySetSource,
  payload: Uint8Array | string,
  options: SignJwsOptions = {},
): Promise<string> {
  assertOptions("options", options, SIGN_JWS_OPTIONS);
  return signPayload(keys, payload, options);
}

/** As `signJws`, for options whose names were read. */
export async function signPayload(
  keys: KeySetSource,
  payload: Uint8Array | string,
  options: SignJwsOptions,
): Promise<string> {
  const body = encodeBase64url(payloadBytes(payload));
  // Read once: a token that the next key makes is the one that was asked for, whatever became of the options meanwhile.
  const { verify, signal } = options;
  const members = headerMembers(options);
  for (let attempts = 1; attempts <= MAX_KEYS_TRIED; attempts += 1) {
    const { active } = currentKeySet(keys);
    const header = encodeText(JSON.stringify({ alg: "ES256", kid: active.keyId, ...members }));
    const signed = await settled(signInput(active, encoder.encode(`${header}.${body}`), { verify, signal }));
    const published = stillPublished(keys, active, signed);
    if (published && "signature" in signed) return `${header}.${body}.${encodeBase64url(signed.signature)}`;
    // What a revoked key failed with says nothing of the next one.
    if ("error" in signed && (published || isOver(signal))) throw signed.error;
  }
  throw new SignerError("unavailable", "each key that signed was withdrawn before its signature was there");
}

type Signed = { readonly signature: Uint8Array } | { readonly error: unknown };

/** A key that was revoked meanwhile has left the set. One that only retires is still published. */
function stillPublished(keys: KeySetSource, active: ActiveKey, signed: Signed): boolean {
  try {
    return isStillPublished(currentKeySet(keys), active);
  } catch (cause) {
    // What the signer failed with came first, and says more of this token than a source that fails now.
    throw "error" in signed ? signed.error : cause;
  }
}

async function settled(signing: Promise<Uint8Array>): Promise<Signed> {
  return signing.then(
    (signature) => ({ signature }),
    (error: unknown) => ({ error }),
  );
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** The key that signs, and the one that took its place while it did. */
const MAX_KEYS_TRIED = 2;

/** What the header says besides `alg` and `kid`, which are the key's. */
function headerMembers({ typ, cty, header = {} }: SignJwsOptions): JsonObject {
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

function mediaType(name: "typ" | "cty", value: unknown, members: object): Record<string, string> {
  if (value === undefined) return {};
  if (typeof value !== "string" || value === "") throw new ConfigurationError(name, "expected a non-empty string");
  if (Object.hasOwn(members, name))
    throw new ConfigurationError(`header.${name}`, `not allowed together with the option ${name}`);
  return { [name]: value };
}

function payloadBytes(payload: unknown): Uint8Array {
  const bytes = copiedBytes(payload);
  if (bytes !== undefined) return bytes;
  // A lone surrogate has no UTF-8 encoding: the verifier would see another text.
  if (typeof payload === "string" && payload.isWellFormed()) return encoder.encode(payload);
  throw new ConfigurationError("payload", "expected a Uint8Array or a well-formed string");
}

function encodeText(text: string): string {
  return encodeBase64url(encoder.encode(text));
}
