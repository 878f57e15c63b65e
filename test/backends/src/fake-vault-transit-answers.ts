import { createHash } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { signDigest } from "./digest-signature.ts";
import { SLOW_FAULT_MS, type Fault } from "./faults.ts";

/** The data on the wire. */
export interface VaultReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: string;
  /** What happens instead of a complete answer. */
  readonly ending?: "hang" | "hang-after-headers" | "reset" | undefined;
  readonly delayMs?: number | undefined;
}

/** A key with one version. */
export interface FakeTransitKey {
  /** SPKI PEM. */
  readonly publicKey: string;
  /** The private scalar. */
  readonly secret: Uint8Array;
}

/** What the fake knows when it answers. */
export interface VaultState {
  readonly key: FakeTransitKey;
  /** The key that signs in place of the right one. */
  readonly stranger: FakeTransitKey;
  /** Members of the answer to a read that differ from a usual key's. */
  readonly changes: Readonly<Record<string, unknown>>;
}

export interface VaultCall {
  readonly operation: "read" | "sign";
  readonly body: Readonly<Record<string, unknown>>;
}

export function errorReply(status: number, ...errors: readonly string[]): VaultReply {
  return { status, body: JSON.stringify({ errors }) };
}

export function dataReply(data: object): VaultReply {
  return { status: 200, body: JSON.stringify({ request_id: "made-up", lease_id: "", data, auth: null }) };
}

/** The answer that a Transit engine would give, modified by `fault`. */
export function answerVault(call: VaultCall, fault: Fault | undefined, state: VaultState): VaultReply {
  const right = (changes: Partial<Making> = {}): VaultReply =>
    call.operation === "read" ? readReply(state, changes) : signReply(call, state, changes);
  switch (fault) {
    case undefined:
      return right();
    case "hang":
    case "hang-after-headers":
    case "reset":
      return { ...right(), ending: fault };
    case "slow":
      return { ...right(), delayMs: SLOW_FAULT_MS };
    case "html":
      return {
        status: 502,
        headers: { "content-type": "text/html" },
        body: "<html><body><h1>502 Bad Gateway</h1></body></html>",
      };
    case "truncated": {
      const whole = right();
      return { ...whole, body: whole.body.slice(0, Math.floor(whole.body.length / 2)) };
    }
    case "empty":
      return { status: 200, body: JSON.stringify({ data: {} }) };
    case "wrong-key":
      return right({ signer: state.stranger, version: 2 });
    case "foreign-signature":
      return right({ signer: state.stranger });
    case "bad-signature":
      return right({ digest: (digest) => createHash("sha256").update(digest).digest() });
    case "corrupted":
      return right({ bytes: lastBitFlipped });
    case "malformed-signature":
      return right({ bytes: (der) => Buffer.concat([der, Buffer.of(0)]) });
    case "out-of-range-signature":
      return right({ bytes: () => outOfRange() });
    case "unsupported-key":
      return right({ members: { type: "ecdsa-p384" } });
    case "key-disabled":
      return call.operation === "read"
        ? right({ members: { soft_deleted: true } })
        : errorReply(500, "1 error occurred:\n\t* refusing to use soft-deleted key\n\n");
    default:
      return refusal(fault, call);
  }
}

function refusal(fault: Fault, { operation }: VaultCall): VaultReply {
  switch (fault) {
    case "throttle":
      return errorReply(429, 'request path "transit/sign/op/sha2-256": rate limit quota exceeded');
    case "unavailable":
      return errorReply(503, "Vault is sealed");
    case "backend-timeout":
      return errorReply(500, "context deadline exceeded");
    case "access-denied":
      return errorReply(403, "1 error occurred:\n\t* permission denied\n\n");
    case "expired-credentials":
      return errorReply(403, "permission denied");
    case "key-not-found":
    case "key-destroyed":
      return operation === "read" ? errorReply(404) : errorReply(400, "signing key not found");
    default:
      throw new Error(`the fake Transit engine does not support the fault ${fault}`);
  }
}

/** How to make a correct answer, so that a fault changes one part of it. */
interface Making {
  readonly signer: FakeTransitKey;
  readonly version: number;
  readonly digest: (digest: Uint8Array) => Uint8Array;
  /** Changes the signature. */
  readonly bytes: (der: Uint8Array) => Uint8Array;
  readonly members: Readonly<Record<string, unknown>>;
}

function readReply({ key, changes }: VaultState, { signer = key, members = {} }: Partial<Making>): VaultReply {
  return dataReply({
    allow_plaintext_backup: false,
    auto_rotate_period: 0,
    deletion_allowed: false,
    exportable: false,
    imported_key: false,
    keys: { "1": { creation_time: "2026-01-01T00:00:00.5Z", name: "P-256", public_key: signer.publicKey } },
    latest_version: 1,
    min_available_version: 0,
    min_decryption_version: 1,
    min_encryption_version: 0,
    name: "op",
    soft_deleted: false,
    type: "ecdsa-p256",
    ...changes,
    ...members,
  });
}

function signReply(
  { body }: VaultCall,
  { key }: VaultState,
  { signer = key, version = 1, digest = (own) => own, bytes = (der) => der }: Partial<Making>,
): VaultReply {
  const { input, prehashed, marshaling_algorithm: marshaling, key_version: wanted } = body;
  if (prehashed !== true || marshaling !== "asn1" || wanted !== 1) throw new Error("not what the adapter sends");
  const der = bytes(signDigest(digest(Buffer.from(String(input), "base64")), signer.secret));
  return dataReply({
    key_version: version,
    signature: `vault:v${version}:${Buffer.from(der).toString("base64")}`,
  });
}

/** Still valid DER, since only the last byte of s changes. */
function lastBitFlipped(der: Uint8Array): Uint8Array {
  const flipped = Uint8Array.from(der);
  const last = flipped.length - 1;
  flipped[last] = (flipped[last] ?? 0) ^ 1;
  return flipped;
}

function outOfRange(): Uint8Array {
  const order = p256.Point.Fn.ORDER.toString(16).padStart(64, "0");
  const integer = Buffer.concat([Buffer.of(0x02, 33, 0), Buffer.from(order, "hex")]);
  return Buffer.concat([Buffer.of(0x30, 2 * integer.length), integer, integer]);
}
