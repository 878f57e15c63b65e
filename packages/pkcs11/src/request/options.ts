import { ConfigurationError, EncodingError, type GuardPolicy, type JwkInput, type P256PublicJwk } from "@signpost/core";
import {
  assertOptions,
  copiedBytes,
  given,
  p256JwkFrom,
  readChoice,
  readMilliseconds,
  readText,
  readWholeNumber,
  type OptionNames,
} from "@signpost/core/adapter";
import type { KeyRequest, PrivateKeyQuery } from "./key-request.ts";
import { requireModulePath } from "./module-path.ts";
import { pinSource, type PinSource, type Pkcs11Pin } from "./pin.ts";
import type { TokenSelector } from "./select-token.ts";
import { readSlotId } from "./slot-id.ts";

/** The options that do not select the key. They are the same for `openPkcs11Signer` and for the adapter. */
export interface Pkcs11KeyOptions {
  /**
   * The public half as JWK or SPKI PEM, for tokens that hold no public object. A signature proves it. Default: the one that
   * the token shows.
   */
  readonly publicKey?: JwkInput | string | undefined;
  /** Time limit for opening: initialization, login, search and proof. Milliseconds, 1 to 2147483647, default 10000. */
  readonly openDeadlineMs?: number | undefined;
  /**
   * Text for C_Initialize, from which NSS takes its configuration. Not empty, without NUL, and the same for all open
   * signers of one module. Default: none, which is right for other modules.
   */
  readonly libraryParameters?: string | undefined;
  /**
   * Concurrent signatures. Each runs in a thread with its own session. 1 to 64, default 4, and at most what the token
   * allows. If the module computes in this process, no more threads sign at the same time than processors but one.
   */
  readonly sessions?: number | undefined;
  /** Where the module runs. Default `thread`. */
  readonly isolation?: Pkcs11Isolation | undefined;
}

/**
 * Where a module runs: `thread`, in worker threads of this process; `process`, in a child process, which is killed and
 * started again when the module hangs or crashes.
 */
export type Pkcs11Isolation = "thread" | "process";

/**
 * Options of `openPkcs11Signer`. The token and the key must match each of `token`, `serial`, `slotId`, `object` and `id`
 * that is given. Exactly one key must match.
 */
export interface Pkcs11SignerOptions extends Pkcs11KeyOptions {
  /** Path of the module, for instance `/usr/lib/softhsm/libsofthsm2.so`. Symbolic links are followed. */
  readonly module: string;
  /** Label of the token. Trailing padding is ignored. Default: any. */
  readonly token?: string | undefined;
  /** Serial number of the token. Default: any. */
  readonly serial?: string | undefined;
  /**
   * Number of the slot, 0 to 2^64 - 1: a number below 2^53, a bigint, or decimal text. With many modules a token's slot
   * number changes on each start, so prefer `token` and `serial`. Default: any.
   */
  readonly slotId?: number | bigint | string | undefined;
  /** CKA_LABEL of the private key, not empty: text, or bytes for a label that is not UTF-8. Default: any. */
  readonly object?: string | Uint8Array | undefined;
  /** CKA_ID of the private key: opaque bytes, not empty. Default: any. */
  readonly id?: Uint8Array | undefined;
  /** The user PIN, or a function that returns it. The function is called on every new login. */
  readonly pin: Pkcs11Pin;
  /**
   * Queue, attempts and deadline. By default two attempts, and as many concurrent calls as sessions. `false` opens the bare
   * signer.
   */
  readonly policy?: GuardPolicy | false | undefined;
  /** Aborts the opening. Default: only the deadline ends it. */
  readonly signal?: AbortSignal | undefined;
}

/** The names of `Pkcs11KeyOptions`. */
export const KEY_OPTIONS: OptionNames<Pkcs11KeyOptions> = {
  publicKey: true,
  openDeadlineMs: true,
  libraryParameters: true,
  sessions: true,
  isolation: true,
};

const SIGNER_OPTIONS: OptionNames<Pkcs11SignerOptions> = {
  ...KEY_OPTIONS,
  module: true,
  token: true,
  serial: true,
  slotId: true,
  object: true,
  id: true,
  pin: true,
  policy: true,
  signal: true,
};

const DEFAULT_SESSIONS = 4;
const MAX_SESSIONS = 64;
/** Login and search go over the network in many modules. Milliseconds. */
const DEFAULT_OPEN_DEADLINE_MS = 10_000;
/** The default attempt timeout. A call that outlasts an impatient caller is not hanging yet. */
const MIN_HANG_MS = 2_000;

/** `Pkcs11KeyOptions`, checked, with their defaults. */
export interface KeySettings {
  readonly publicKey: P256PublicJwk | undefined;
  readonly openDeadlineMs: number;
  readonly libraryParameters: string | undefined;
  readonly sessions: number;
  readonly isolation: Pkcs11Isolation;
}

/** Which key to open, and how. */
export interface ReadRequest {
  /** The module's path is as the caller gave it, not yet resolved. */
  readonly request: KeyRequest;
  /** Paths of the modules that may be loaded. Undefined allows any. */
  readonly allowedModules?: readonly string[] | undefined;
  readonly settings: KeySettings;
}

/** The options of `openPkcs11Signer`, checked. */
export function readSignerOptions(options: Pkcs11SignerOptions): ReadRequest {
  assertOptions("options", options, SIGNER_OPTIONS);
  const settings = readKeySettings(options);
  const { module, policy } = options;
  const pin = pinSource(options.pin);
  return { request: readKeyRequest(settings, { module, pin, policy, ...readSelection(options) }), settings };
}

/** The options that select a token, and an object on it. */
export function readSelection(
  options: Pick<Pkcs11SignerOptions, "token" | "serial" | "slotId" | "object" | "id">,
): Pick<RequestParts, "selector" | "query"> {
  const { slotId } = options;
  return {
    selector: {
      token: optionalText("token", options.token),
      serial: optionalText("serial", options.serial),
      slotId: slotId === undefined ? undefined : readSlotId(slotId),
    },
    query: { object: optionalLabel(options.object), id: optionalBytes("id", options.id) },
  };
}

/** @throws ConfigurationError */
export function readKeySettings(options: Pkcs11KeyOptions): KeySettings {
  return {
    publicKey: optionalPublicKey(options.publicKey),
    openDeadlineMs: readMilliseconds("openDeadlineMs", options.openDeadlineMs ?? DEFAULT_OPEN_DEADLINE_MS),
    libraryParameters: optionalParameters(options.libraryParameters),
    sessions: readWholeNumber("sessions", options.sessions ?? DEFAULT_SESSIONS, 1, MAX_SESSIONS),
    isolation: readChoice("isolation", options.isolation ?? "thread", ["thread", "process"]),
  };
}

interface RequestParts {
  readonly module: unknown;
  readonly pin: PinSource;
  readonly selector: TokenSelector;
  readonly query: PrivateKeyQuery;
  readonly policy: GuardPolicy | false | undefined;
}

/** What all ways of selecting a key have in common, checked and ready for either isolation. */
export function readKeyRequest(settings: KeySettings, names: RequestParts): KeyRequest {
  const { publicKey, libraryParameters, sessions } = settings;
  const { selector, query, policy } = names;
  return {
    pin: names.pin,
    publicKey,
    sessions,
    hangMs: Math.max(MIN_HANG_MS, (policy === false ? undefined : policy?.attemptTimeoutMs) ?? 0),
    module: requireModulePath(names.module),
    libraryParameters,
    selector,
    query,
  };
}

function optionalPublicKey(key: unknown): P256PublicJwk | undefined {
  if (key === undefined) return undefined;
  try {
    return p256JwkFrom(key, "publicKey");
  } catch (cause) {
    if (!(cause instanceof EncodingError)) throw cause;
    const reason = cause.message.replace(/^publicKey: /, "");
    throw new ConfigurationError("publicKey", `expected a P-256 public key as JWK or PEM: ${reason}`, { cause });
  }
}

function optionalText(name: string, value: unknown): string | undefined {
  return value === undefined ? undefined : readText(name, value);
}

/** The module reads this text up to a NUL. A lone surrogate has no UTF-8 encoding, here and in a label. */
function optionalParameters(value: unknown): string | undefined {
  const text = optionalText("libraryParameters", value);
  if (text === undefined || (text.isWellFormed() && !text.includes("\0"))) return text;
  throw new ConfigurationError(
    "libraryParameters",
    `expected a well-formed string without NUL, got one with ${text.includes("\0") ? "a NUL" : "a lone surrogate"}`,
  );
}

function optionalLabel(value: unknown): Uint8Array | undefined {
  if (typeof value !== "string" || value === "") {
    return optionalBytes("object", value, "a string or Uint8Array, not empty");
  }
  if (!value.isWellFormed())
    throw new ConfigurationError("object", "expected a well-formed string, got one with a lone surrogate");
  return new TextEncoder().encode(value);
}

function optionalBytes(name: string, value: unknown, expected = "a non-empty Uint8Array"): Uint8Array | undefined {
  if (value === undefined) return undefined;
  const bytes = copiedBytes(value);
  if (bytes === undefined || bytes.length === 0)
    throw new ConfigurationError(
      name,
      `expected ${expected}, got ${bytes === undefined ? given(value) : "an empty Uint8Array"}`,
    );
  return bytes;
}
