import { describe, expect, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { createReferenceBackend } from "./reference.ts";
import type { ReferenceBackend } from "./reference.ts";

/** The checks bound themselves; the slowest of them depend on the machine and on luck. Milliseconds. */
const TIMEOUT_MS = 240_000;

// Most of each check is waiting, so the checks run concurrently. Each has its own backend.
describe.concurrent("a signer that keeps the contract passes", () => {
  const names = signerChecks(createReferenceBackend().harness).map(({ name }) => name);

  test.each(names)(
    "%s",
    async (name) => {
      expect(await openAfter(name, createReferenceBackend())).toBe(0);
    },
    TIMEOUT_MS,
  );
});

describe.concurrent("a slow signer that keeps the contract passes", () => {
  const names = signerChecks({ ...createReferenceBackend().harness, faults: {} }).map(({ name }) => name);

  test.each(names)(
    "%s",
    async (name) => {
      expect(await openAfter(name, createReferenceBackend({ latencyMs: 25 }))).toBe(0);
    },
    TIMEOUT_MS,
  );
});

/** How many signers a check leaves open that passes. */
async function openAfter(name: string, { harness, openSigners }: ReferenceBackend): Promise<number> {
  const check = signerChecks(harness).find((candidate) => candidate.name === name);
  if (check === undefined) throw new Error(`there is no check named ${name}`);
  await check.run();
  return openSigners();
}
