import { open, realpath } from "node:fs/promises";
import { isUint8Array } from "node:util/types";
import {
  ConfigurationError,
  EncodingError,
  type GuardPolicy,
  type JwkInput,
  jwkToSpki,
  type P256PublicJwk,
  spkiToJwk,
} from "@signpost/core";
import { readMilliseconds } from "@signpost/core/adapter";
import type { KeyRequest, PrivateKeyQuery } from "./key-request.ts";
import { pinSource, type Pkcs11Pin } from "./pin.ts";
import type { TokenSelector } from "./select-token.ts";

/** What does not say which key is meant. */
export interface Pkcs11KeyOptions {
  /** The public half as JWK or PEM, for tokens that hold no public object. It is proven by a signature. */
  readonly publicKey?: JwkInput | string | undefined;
  /** Bound of opening: initialising, login, search and proof. Milliseconds, default 10000. */
  readonly openDeadlineMs?: number | undefined;
  /** Text for C_Initialize, which NSS takes its configuration from. Other modules want none. */
  readonly libraryParameters?: string | undefined;
  /** Signatures at once, each in a thread with a session of its own. 1 to 64, default 4; at most what the token allows. */
  readonly sessions?: number | undefined;
  /**
   * Where the module runs. `thread` (default): in worker threads of this process. `process`: in a child process, which is killed
   * and started again when the module hangs or crashes.
   */
  readonly isolation?: Pkcs11Isolation | undefined;
}

export type Pkcs11Isolation = "thread" | "process";

export interface Pkcs11SignerOptions extends Pkcs11KeyOptions {
  /** Path of the module, for instance `/usr/lib/softhsm/libsofthsm2.so`. */
  readonly module: string;
  /** Label of the token. Padding at its end does not count. */
  readonly token?: string | undefined;
  /** Serial number of the token. */
  readonly serial?: string | undefined;
  /** Number of the slot. Many modules give a token another one after each start: prefer `token` and `serial`. */
  readonly slotId?: number | undefined;
  /** CKA_LABEL of the private key. */
  readonly object?: string | undefined;
  /** CKA_ID of the private key: opaque bytes. */
  readonly id?: Uint8Array | undefined;
  /** The user PIN, or a function that is asked for it on every new login. */
  readonly pin: Pkcs11Pin;
  /** Queue, attempts and deadline. Default two attempts and as many calls at once as sessions; `false` opens the bare signer. */
  readonly policy?: GuardPolicy | false | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_SESSIONS = 4;
const MAX_SESSIONS = 64;
/** The default attempt timeout. A call that is slower than an impatient caller does not hang yet. */
const MIN_HANG_MS = 2_000;

/** The options of `openPkcs11Signer`, checked. */
export async function keyRequest(options: Pkcs11SignerOptions): Promise<KeyRequest> {
  const { token, serial, slotId, object, id } = options;
  return readKeyOptions({
    ...options,
    selector: {
      token: optionalText("token", token),
      serial: optionalText("serial", serial),
      slotId: slotId === undefined ? undefined : wholeNumber("slotId", slotId, 0, Number.MAX_SAFE_INTEGER),
    },
    query: { object: optionalText("object", object), id: optionalBytes("id", id) },
  });
}

interface UncheckedRequest extends Pkcs11KeyOptions {
  readonly module: string;
  readonly pin: Pkcs11Pin;
  readonly selector: TokenSelector;
  readonly query: PrivateKeyQuery;
  readonly policy?: GuardPolicy | false | undefined;
}

/** What every way of naming a key has in common, checked and ready for a backend. */
export async function readKeyOptions(options: UncheckedRequest): Promise<KeyRequest> {
  const { policy, selector, query, isolation } = options;
  if (isolation !== undefined && isolation !== "thread" && isolation !== "process") {
    throw new ConfigurationError("isolation", 'expected "thread" or "process"');
  }
  if (options.openDeadlineMs !== undefined) readMilliseconds("openDeadlineMs", options.openDeadlineMs);
  return {
    pin: pinSource(options.pin),
    publicKey: publicKeyOption(options.publicKey),
    sessions: sessionCount(options.sessions),
    hangMs: Math.max(MIN_HANG_MS, (policy === false ? undefined : policy?.attemptTimeoutMs) ?? 0),
    module: await modulePath(options.module),
    libraryParameters: optionalText("libraryParameters", options.libraryParameters),
    selector,
    query,
  };
}

function sessionCount(sessions: number | undefined): number {
  return wholeNumber("sessions", sessions ?? DEFAULT_SESSIONS, 1, MAX_SESSIONS);
}

// What the first bytes of a shared library are: ELF, the five kinds of Mach-O, and PE.
const LIBRARY_MAGIC = ["7f454c46", "cffaedfe", "cefaedfe", "feedfacf", "feedface", "cafebabe"];

/**
 * The path without symbolic links, so that one module has one name in the process. What is no library is refused here,
 * before the loader of the system sees it.
 */
async function modulePath(path: unknown): Promise<string> {
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new ConfigurationError("module", "expected the path of a PKCS#11 library");
  }
  let real: string;
  let start: string;
  try {
    real = await realpath(path);
    start = await firstBytes(real);
  } catch (cause) {
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, got ${JSON.stringify(path)}, which cannot be read`,
      { cause },
    );
  }
  if (!LIBRARY_MAGIC.includes(start) && !start.startsWith("4d5a")) {
    throw new ConfigurationError(
      "module",
      `expected the path of a PKCS#11 library, but ${JSON.stringify(path)} is no shared library`,
    );
  }
  return real;
}

async function firstBytes(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead).toString("hex");
  } finally {
    await file.close();
  }
}

function publicKeyOption(key: JwkInput | string | undefined): P256PublicJwk | undefined {
  if (key === undefined) return undefined;
  try {
    return spkiToJwk(typeof key === "string" ? key : jwkToSpki(key));
  } catch (cause) {
    if (!(cause instanceof EncodingError)) throw cause;
    throw new ConfigurationError("publicKey", `expected a P-256 public key as JWK or PEM: ${cause.message}`, { cause });
  }
}

function optionalText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "string" || value === "")
    throw new ConfigurationError(name, "expected a string that is not empty");
  return value;
}

function optionalBytes(name: string, value: unknown): Uint8Array | undefined {
  if (value === undefined) return undefined;
  if (!isUint8Array(value) || value.length === 0)
    throw new ConfigurationError(name, "expected a Uint8Array that is not empty");
  return new Uint8Array(value);
}

function wholeNumber(name: string, value: unknown, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new ConfigurationError(name, `expected a whole number from ${min} to ${max}`);
}
