import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { GuardedSigner, Signer } from "@signpost/core";
import { openPkcs11Signer, type Pkcs11SignerOptions } from "@signpost/pkcs11";

export type GuardedOptions = Omit<Pkcs11SignerOptions, "policy"> & {
  readonly policy?: Exclude<Pkcs11SignerOptions["policy"], false>;
};

/** Opens signers and closes at the end of a test those that the test did not. */
export interface Opener {
  open(options: GuardedOptions): Promise<GuardedSigner>;
  closeAll(): Promise<void>;
}

export function createOpener(): Opener {
  const opened: Signer[] = [];
  return {
    open: async (options) => {
      const signer = await openPkcs11Signer(options);
      opened.push(signer);
      return signer;
    },
    closeAll: async () => {
      await Promise.all(opened.splice(0).map((signer) => signer.close()));
    },
  };
}

/** Signs a new message. True when node:crypto verifies the signature under the signer's public key. */
export async function signsAndVerifies(signer: Signer): Promise<boolean> {
  const message = randomBytes(32);
  const signature = await signer.sign(sha256(message));
  const key = createPublicKey({ key: { ...signer.publicKey }, format: "jwk" });
  return verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature);
}

export function sha256(message: Uint8Array): Buffer {
  return createHash("sha256").update(message).digest();
}

/** The error's code, or "signed" and "did not verify". */
export async function outcome(signer: Signer): Promise<string> {
  try {
    return (await signsAndVerifies(signer)) ? "signed" : "did not verify";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

/** Waits until a condition holds. The limit only keeps a broken test from hanging. */
export async function until(condition: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not reached within ${limitMs} ms`);
    await pause(20);
  }
}

/** "opened", or the error's code. */
export async function openingOutcome(opening: Promise<unknown>): Promise<string> {
  try {
    await opening;
    return "opened";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}
