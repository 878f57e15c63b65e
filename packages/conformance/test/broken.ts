import { createHash } from "node:crypto";
import type { Signer } from "@signpost/core";
import type { OpeningLimits, SignerHarness } from "@signpost/conformance";
import { createReferenceBackend } from "./reference.ts";
import type { ReferenceBackend } from "./reference.ts";

/** A signer that is broken on purpose, and the check that must find it out. */
export interface BrokenSigner {
  /** The check's name, without its form. */
  readonly check: string;
  /** What the signer does wrong. */
  readonly broken: string;
  /** What the check must complain of, so that it does not fail for another reason. */
  readonly complaint: RegExp;
  /** Default both. */
  readonly forms?: readonly ("bare" | "guarded")[];
  readonly harness: () => SignerHarness;
}

/** Replaces members of the reference signer. The result is handed out in both forms: no guard may mend it. */
export type Change = (bare: Signer, backend: ReferenceBackend) => Partial<Signer>;

export function harnessOf(change: Change): () => SignerHarness {
  return () => {
    const backend = createReferenceBackend();
    return { ...backend.harness, open: async () => changed(await backend.open(false), backend, change) };
  };
}

/** Opens wrongly where the opening has a signal or a time limit. */
export function openingWith(
  open: (backend: ReferenceBackend, limits: OpeningLimits) => Promise<Signer>,
): () => SignerHarness {
  return () => {
    const backend = createReferenceBackend();
    return { ...backend.harness, openWith: (limits) => open(backend, limits) };
  };
}

/** Getters stay getters, for members that change. */
export function changed(bare: Signer, backend: ReferenceBackend, change: Change): Signer {
  return Object.defineProperties({ ...bare }, Object.getOwnPropertyDescriptors(change(bare, backend))) as Signer;
}

export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
