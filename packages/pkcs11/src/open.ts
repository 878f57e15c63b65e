import {
  ConfigurationError,
  type GuardedSigner,
  type GuardPolicy,
  type Signer,
  SignerError,
  type SignOptions,
} from "@signpost/core";
import {
  createAdapterSigner,
  markPlace,
  nameSigner,
  type Place,
  readPolicy,
  readSignal,
  withinDeadline,
} from "@signpost/core/adapter";
import { openThreadKey } from "./pool/open-key.ts";
import { pinLedger } from "./pool/pin-ledger.ts";
import { openProcessKey } from "./process/open-key.ts";
import { readModulePath } from "./request/module-path.ts";
import { type Pkcs11SignerOptions, type ReadRequest, readSignerOptions } from "./request/options.ts";
import { formatKeyUri, formatRequestUri } from "./request/uri.ts";
import type { SigningKey } from "./wire/signing-key.ts";

/**
 * Opens a P-256 key on a PKCS#11 token. No Cryptoki call runs on the caller's thread: each session has a worker thread.
 * Signers on one token share the sessions. The key is checked, and proven by a signature that verifies under its
 * public half.
 *
 * Rejects with ConfigurationError for an option, the module's path or a missing `pkcs11js`; SignerError `key_not_found` (also for
 * a missing token), `ambiguous_key`, `unsupported_key`, `wrong_key`, `bad_signature`, `integrity`, `pin_incorrect`, `pin_locked`,
 * `access_denied`, `unavailable`, `timeout`, `aborted`.
 *
 * @example
 * ```ts
 * import { openPkcs11Signer } from "@signpost/pkcs11";
 *
 * const signer = await openPkcs11Signer({
 *   module: "/usr/lib/softhsm/libsofthsm2.so",
 *   token: "op",
 *   object: "sig-2026",
 *   pin: async () => process.env["OP_PIN"] ?? "",
 * });
 * ```
 */
export function openPkcs11Signer(options: Pkcs11SignerOptions & { readonly policy: false }): Promise<Signer>;
/** A guarded signer. */
export function openPkcs11Signer(
  options: Pkcs11SignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
/** Guarded unless `policy` is `false`. */
export function openPkcs11Signer(options: Pkcs11SignerOptions): Promise<Signer>;
export async function openPkcs11Signer(options: Pkcs11SignerOptions): Promise<Signer> {
  return openKeySigner(readSignerOptions(options), options);
}

const HEDGING = {
  refusesHedging:
    "a C_Sign that has started cannot be aborted, and for an always-authenticate key the hedge would log in a second time",
} as const;

type OpeningOptions = Pick<Pkcs11SignerOptions, "policy" | "signal">;

/** Opens the key of a checked request, as a guarded or a bare signer. */
export async function openKeySigner(read: ReadRequest, options: OpeningOptions): Promise<Signer> {
  // Checked before anything is opened, because a failure later would leave it open.
  const policy = readPolicy(options.policy, HEDGING);
  const signal = readSignal("signal", options.signal);
  const { key, module } = await openWithin(read, signal);
  const uri = formatKeyUri(module, key);
  const placeOfSession = createPlaces(uri);
  const backend = {
    ...HEDGING,
    uri,
    publicKey: key.publicKey,
    spreadsOptions: false,
    signDigest: async (digest: Uint8Array, call: SignOptions) => {
      try {
        const { signature, session } = await key.sign(digest, call);
        return markPlace(signature, placeOfSession(session));
      } catch (error) {
        throw namedError(signingError(error), uri);
      }
    },
    close: () => key.close(),
  };
  return createAdapterSigner(backend, policy, {
    // One retry at most: some tokens count signatures, and all of them are slow.
    defaults: { concurrency: key.sessions, maxAttempts: 2 },
    notes: () => key.notes(),
    status: () => key.status(),
  });
}

/**
 * Each session is a place. A proof in one session says nothing about the next, which may be in another child or find
 * another key.
 */
function createPlaces(uri: string): (session: object) => Place {
  const places = new WeakMap<object, Place>();
  return (session) => {
    const place = places.get(session) ?? { uri };
    places.set(session, place);
    return place;
  };
}

interface OpenedKey {
  readonly key: SigningKey;
  /** Path of its module, without symbolic links. */
  readonly module: string;
}

async function openWithin(read: ReadRequest, signal: AbortSignal | undefined): Promise<OpenedKey> {
  const { request, allowedModules, settings } = read;
  const { isolation, openDeadlineMs: deadlineMs } = settings;
  // Created here, so that what other threads know of PINs arrives while the module loads.
  const pins = pinLedger();
  const open = isolation === "process" ? openProcessKey : openThreadKey;
  let opening: Promise<SigningKey> | undefined;
  const openOnce = async (ending: AbortSignal): Promise<OpenedKey> => {
    // The file may be on a file system that hangs.
    const module = await readModulePath(request.module, allowedModules);
    if (ending.aborted) throw ending.reason;
    opening = open({ ...request, module }, pins);
    return { key: await opening, module };
  };
  try {
    return await withinDeadline(openOnce, { deadlineMs, signal });
  } catch (error) {
    // The caller has stopped waiting, so close it as soon as it is open.
    opening?.then((late) => late.close()).catch(() => {});
    const uri = formatRequestUri(request);
    throw namedError(lateError(error, uri, pins.waiting(request.pin, request.selector)), uri);
  }
}

/** The error of an opening that took too long, with the key and what it was waiting for. */
function lateError(error: unknown, uri: string, waiting: string | undefined): unknown {
  if (!(error instanceof SignerError) || error.code !== "timeout") return error;
  const message = `${uri}: ${error.message}${waiting === undefined ? "" : `: ${waiting}`}`;
  return new SignerError(error.code, message, { cause: error.cause });
}

/** The reason that keeps a key from being opened may pass later: a PIN file is empty while it is being written. */
function signingError(error: unknown): unknown {
  return error instanceof ConfigurationError ? new SignerError("unavailable", error.message, { cause: error }) : error;
}

/** Adds the key's URI, and converts internal error classes to the ones that callers know. */
function namedError(error: unknown, uri: string): unknown {
  if (!(error instanceof SignerError) || error.constructor === SignerError) return nameSigner(error, uri);
  const { code, message, transient, cause } = error;
  return new SignerError(code, message, { cause, transient, uri });
}
