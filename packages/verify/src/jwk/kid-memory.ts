import { createHash } from "node:crypto";
import { KeySetError } from "../errors.ts";
import { createRecentlyUsed } from "../recently-used.ts";
import type { VerificationKey } from "./parse-jwk.ts";

/** The kids that a key function has returned keys for. */
export interface KidMemory {
  /**
   * Checks a key before it is returned. `named` are all keys of the set with its `kid`. Returns a `KeySetError` if the `kid` named
   * another key of this type before.
   */
  refusalOf(key: VerificationKey, named: readonly VerificationKey[]): KeySetError | undefined;
}

/** Number of kids per key function. */
export const REMEMBERED_KIDS = 10_000;

/** Keys that share a kid and a type and differ by `alg`. More are never needed. */
const MAX_KEYS_OF_A_KID = 8;
/** A longer text is stored as its digest. */
const MAX_SLOT_LENGTH = 100;

/**
 * Remembers the last `capacity` kids with the thumbprints of their keys. A `kid` names one key of its type permanently. Keys of other
 * types may share it, as alternatives (RFC 7517 section 4.5). All keys that had the kid in the set at its first use are accepted, so a
 * forged `alg` cannot choose which one is remembered.
 */
export function createKidMemory(capacity: number): { of(owner: string): KidMemory } {
  const thumbprints = createRecentlyUsed<readonly string[]>(capacity);

  function memoryOf(owner: string): KidMemory {
    // Every token needs the slot of its key.
    const slots = new WeakMap<VerificationKey, string>();
    return {
      refusalOf(key, named) {
        const slot = slots.get(key) ?? slotOf(owner, key);
        slots.set(key, slot);
        const remembered = thumbprints.get(slot);
        const known = remembered ?? thumbprintsOf(key, named);
        if (remembered === undefined) thumbprints.set(slot, known);
        if (known.includes(key.thumbprint())) return undefined;
        return new KeySetError(
          "kid_rebound",
          "this kid named another key before; give a new key a kid that was never used",
        );
      },
    };
  }

  return { of: memoryOf };
}

function slotOf(owner: string, { kid, publicJwk }: VerificationKey): string {
  const text = JSON.stringify([publicJwk.kty, kid, owner]);
  return text.length <= MAX_SLOT_LENGTH ? text : createHash("sha256").update(text).digest("base64url");
}

function thumbprintsOf(key: VerificationKey, named: readonly VerificationKey[]): readonly string[] {
  const together = named.filter((other) => other !== key && other.publicJwk.kty === key.publicJwk.kty);
  return [key, ...together].slice(0, MAX_KEYS_OF_A_KID).map((one) => one.thumbprint());
}
