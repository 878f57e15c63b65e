import { expect, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import type { BrokenSigner } from "./broken.ts";
import { createReferenceBackend } from "./reference.ts";

/** The checks bound themselves. Milliseconds. */
const TIMEOUT_MS = 240_000;

interface Case {
  readonly check: string;
  readonly broken: string;
  readonly complaint: RegExp;
  readonly harness: BrokenSigner["harness"];
}

const casesOf = (signers: readonly BrokenSigner[]): Case[] =>
  signers.flatMap(({ check, forms = ["bare", "guarded"], ...rest }) =>
    forms.map((form) => ({ ...rest, check: `${form}: ${check}` })),
  );

/** One test for each broken signer and form: the check rejects, and says why. */
export function testThatChecksFail(signers: readonly BrokenSigner[]): void {
  test.concurrent.each(casesOf(signers))(
    "$check ← $broken",
    async ({ check, complaint, harness }) => {
      const { run } = signerChecks(harness()).find(({ name }) => name === check) ?? {};
      expect(run, `there is no check named ${check}`).toBeTypeOf("function");
      await expect(run?.()).rejects.toThrow(complaint);
    },
    TIMEOUT_MS,
  );
}

/** The checks, of those that `names` picks, for which no signer is broken. */
export function unproven(signers: readonly BrokenSigner[], pick: (name: string) => boolean): string[] {
  const proven = new Set(casesOf(signers).map(({ check }) => check));
  const names = signerChecks(createReferenceBackend().harness).map(({ name }) => name);
  return names.filter((name) => pick(name) && !proven.has(name));
}

/** Whether a check is about a fault of the backend. */
export const isOfFault = (name: string): boolean => / (signing|opening) while /.test(name);
