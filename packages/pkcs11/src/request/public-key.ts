import { createHash, createPublicKey, randomBytes, verify, X509Certificate } from "node:crypto";
import { ecPointToJwk, EncodingError, type P256PublicJwk, SignerError, spkiToJwk } from "@signpost/core";
import type { PrivateKeyDescription } from "../cryptoki/descriptions.ts";
import { describeLabel } from "../cryptoki/label.ts";

/**
 * The public key in a token's objects, or undefined when none holds it. Objects that cannot be read as a P-256 key are
 * ignored if another one can: they may belong to another key with this CKA_ID, and a signature proves the key anyway.
 *
 * @throws SignerError `unsupported_key` if there are objects and none is a P-256 key, `ambiguous_key` when keys differ.
 */
export function publicKeyOf(found: PrivateKeyDescription): P256PublicJwk | undefined {
  const { keys, faults } = publicKeysOf(found);
  const [first] = keys;
  const [fault] = faults;
  if (first === undefined && fault !== undefined) {
    throw new SignerError("unsupported_key", `${name(found)}: its public half is not a P-256 key: ${fault.reason}`, {
      cause: fault.cause,
    });
  }
  if (first !== undefined && keys.some((key) => !sameKey(key, first))) {
    const problem = "the public keys and certificates with this CKA_ID are of different keys";
    const remedy = "Delete those of another key from the token, or give them another CKA_ID";
    throw new SignerError("ambiguous_key", `${name(found)}: ${problem}. ${remedy}`);
  }
  return first;
}

interface Fault {
  readonly reason: string;
  readonly cause: unknown;
}

interface PublicKeys {
  readonly keys: readonly P256PublicJwk[];
  /** Why other objects are not P-256 keys. */
  readonly faults: readonly Fault[];
}

function publicKeysOf({ ecPoints, publicKeyInfos, certificates }: PrivateKeyDescription): PublicKeys {
  const keys: P256PublicJwk[] = [];
  const faults: Fault[] = [];
  const read = (values: readonly Uint8Array[], toKey: (value: Uint8Array) => P256PublicJwk): void => {
    for (const value of values) {
      try {
        keys.push(toKey(value));
      } catch (cause) {
        faults.push({ reason: cause instanceof EncodingError ? cause.message : "not an X.509 certificate", cause });
      }
    }
  };
  read(ecPoints, ecPointToJwk);
  read(publicKeyInfos, spkiToJwk);
  read(certificates, certificateToJwk);
  return { keys, faults };
}

function certificateToJwk(der: Uint8Array): P256PublicJwk {
  return spkiToJwk(new X509Certificate(der).publicKey.export({ type: "spki", format: "der" }));
}

/** Whether both are the same point. */
export function sameKey(a: P256PublicJwk, b: P256PublicJwk): boolean {
  return a.x === b.x && a.y === b.y;
}

/** A digest to sign, and the check that a key made the signature over it. */
export interface Probe {
  readonly digest: Uint8Array;
  verifies(publicKey: P256PublicJwk, signature: Uint8Array): boolean;
}

/** Proves which private key a handle stands for. Nothing on the token says so for certain. */
export function createProbe(): Probe {
  const message = randomBytes(32);
  return {
    digest: createHash("sha256").update(message).digest(),
    verifies: ({ kty, crv, x, y }, signature) => {
      const key = createPublicKey({ key: { kty, crv, x, y }, format: "jwk" });
      return verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature);
    },
  };
}

function name({ label, id }: PrivateKeyDescription): string {
  const hex = Buffer.from(id).toString("hex");
  return `${describeLabel(label)} (id ${hex === "" ? "none" : hex})`;
}
