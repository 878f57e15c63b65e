import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { p256 } from "@noble/curves/nist.js";
import { guardSigner, SignerError } from "@signpost/core";
import { createSigner, endedError, withinDeadline } from "@signpost/core/adapter";
import type { GuardPolicy, P256PublicJwk, Signer, SignerErrorCode, SignOptions } from "@signpost/core";
import { SLOW_FAULT_MS } from "@signpost/conformance";
import type { Fault, OpeningLimits, SignerHarness } from "@signpost/conformance";

/** A P-256 key that signs digests as they are. */
export interface TestKey {
  readonly publicKey: P256PublicJwk;
  /** The private scalar in hexadecimal. */
  readonly secret: string;
  /** Randomised: the same digest gives another signature each time. */
  sign(digest: Uint8Array): Uint8Array;
}

export function createTestKey(): TestKey {
  const privateKey = p256.utils.randomSecretKey();
  const point = p256.getPublicKey(privateKey, false);
  const coordinate = (start: number): string => Buffer.from(point.subarray(start, start + 32)).toString("base64url");
  return {
    publicKey: { kty: "EC", crv: "P-256", x: coordinate(1), y: coordinate(33) },
    secret: Buffer.from(privateKey).toString("hex"),
    sign: (digest) => p256.sign(digest, privateKey, { prehash: false, lowS: false, extraEntropy: true }),
  };
}

/** A backend in memory that can fail in every way, with the adapter that a careful author writes for it. */
export interface ReferenceBackend {
  readonly key: TestKey;
  readonly open: SignerHarness["open"];
  /** Reads the key from the backend first, which may be silent. */
  readonly openWith: (limits: OpeningLimits) => Promise<Signer>;
  /** All that signerChecks is given. */
  readonly harness: SignerHarness & { readonly faults: Record<Fault, (on: boolean) => Promise<void>> };
  /** Which fault is on, for signers that are broken on purpose. */
  readonly fault: () => Fault | undefined;
  /** How many signers are open. */
  readonly openSigners: () => number;
}

export function createReferenceBackend(options: { latencyMs?: number } = {}): ReferenceBackend {
  const key = createTestKey();
  const foreignKey = createTestKey();
  let fault: Fault | undefined;
  let sessionIsOpen = true;
  let openSigners = 0;

  const signDigest = async (digest: Uint8Array, { signal }: SignOptions): Promise<Uint8Array> => {
    await waitUnlessAborted(options.latencyMs ?? 1, signal);
    if (fault === "session-lost" && !sessionIsOpen) {
      sessionIsOpen = true;
      throw new SignerError("unavailable", "the session was lost");
    }
    if (fault === "hang" || fault === "hang-after-headers") await waitUnlessAborted(undefined, signal);
    if (fault === "slow") await waitUnlessAborted(SLOW_FAULT_MS, signal);
    if (fault === "foreign-signature") return foreignKey.sign(digest);
    if (fault === "bad-signature") return key.sign(randomBytes(32));
    const error = fault === undefined ? undefined : SIGNING_ERRORS[fault];
    if (error !== undefined) throw error();
    return key.sign(digest);
  };

  const open = async (policy?: GuardPolicy | false): Promise<Signer> => {
    const refusal = fault === undefined ? undefined : OPENING_ERRORS[fault];
    if (refusal !== undefined) throw refusal();
    const close = async (): Promise<void> => void (openSigners -= 1);
    const bare = createSigner({ uri: "reference:key-1", publicKey: key.publicKey, signDigest, close });
    openSigners += 1;
    return policy === false ? bare : guardSigner(bare, policy);
  };

  const openWith = async ({ policy, signal, openDeadlineMs = 5000 }: OpeningLimits): Promise<Signer> => {
    const readKey = async (ending: AbortSignal): Promise<void> => {
      if (fault === "slow") await waitUnlessAborted(SLOW_FAULT_MS, ending);
      if (fault === "hang" || fault === "hang-after-headers") await waitUnlessAborted(undefined, ending);
    };
    await withinDeadline(readKey, { deadlineMs: openDeadlineMs, signal });
    return open(policy);
  };

  const toggle = (name: Fault) => async (on: boolean) => {
    fault = on ? name : undefined;
    sessionIsOpen = !(on && name === "session-lost");
  };
  const faults = Object.fromEntries(
    ALL_FAULTS.map((name) => [name, toggle(name)]),
  ) as ReferenceBackend["harness"]["faults"];
  const harness = { open, openWith, secrets: [key.secret], faults };
  return { key, open, openWith, harness, fault: () => fault, openSigners: () => openSigners };
}

/** Rejects as a `Signer` must when the signal aborts; without a time it waits for nothing else. */
export async function waitUnlessAborted(ms: number | undefined, signal: AbortSignal | undefined): Promise<void> {
  try {
    await pause(ms ?? 2 ** 31 - 1, undefined, signal === undefined ? {} : { signal });
  } catch {
    throw endedError(signal?.reason);
  }
}

const failing = (code: SignerErrorCode, transient?: boolean) => () =>
  new SignerError(code, "the reference backend fails on purpose", {
    transient,
    cause: new Error("what the backend said"),
  });

const SIGNING_ERRORS: Partial<Record<Fault, () => SignerError>> = {
  unreachable: failing("unavailable"),
  unavailable: failing("unavailable"),
  throttle: failing("throttled"),
  "backend-timeout": failing("timeout"),
  reset: failing("unavailable"),
  truncated: failing("integrity"),
  empty: failing("integrity"),
  html: failing("unavailable"),
  corrupted: failing("integrity", true),
  "corrupted-request": failing("integrity", true),
  "missing-checksum": failing("integrity"),
  "wrong-key": failing("wrong_key"),
  "malformed-signature": failing("integrity"),
  "out-of-range-signature": failing("bad_signature"),
  "access-denied": failing("access_denied"),
  "expired-credentials": failing("access_denied"),
  "key-not-found": failing("key_not_found"),
  "key-disabled": failing("key_disabled"),
  "key-destroyed": failing("key_disabled"),
};

const OPENING_ERRORS: Partial<Record<Fault, () => SignerError>> = {
  unreachable: failing("unavailable"),
  "unsupported-key": failing("unsupported_key"),
  "ambiguous-key": failing("ambiguous_key"),
  "key-pending": failing("key_disabled"),
  "pin-incorrect": failing("pin_incorrect"),
  "pin-locked": failing("pin_locked"),
};

/** Every word of `Fault`; the type makes a missing one an error. */
const EVERY_FAULT: Record<Fault, true> = {
  unreachable: true,
  unavailable: true,
  throttle: true,
  "backend-timeout": true,
  "session-lost": true,
  reset: true,
  hang: true,
  "hang-after-headers": true,
  slow: true,
  truncated: true,
  empty: true,
  html: true,
  corrupted: true,
  "corrupted-request": true,
  "missing-checksum": true,
  "wrong-key": true,
  "foreign-signature": true,
  "bad-signature": true,
  "malformed-signature": true,
  "out-of-range-signature": true,
  "access-denied": true,
  "expired-credentials": true,
  "key-not-found": true,
  "key-disabled": true,
  "key-destroyed": true,
  "unsupported-key": true,
  "ambiguous-key": true,
  "key-pending": true,
  "pin-incorrect": true,
  "pin-locked": true,
};
export const ALL_FAULTS = Object.keys(EVERY_FAULT) as readonly Fault[];
