import { expect, test } from "vitest";
import { SignerError, type SignerErrorCode } from "@signpost/core";
import { signerChecks, type Fault } from "@signpost/conformance";
import { createReferenceBackend } from "./reference.ts";

/** What may come of a fault: of calls while a backend is there, or of opening. */
const CODES: Readonly<Record<Fault, readonly [fails: "signing" | "opening", codes: string]>> = {
  unreachable: ["signing", "unavailable or timeout"],
  unavailable: ["signing", "unavailable"],
  throttle: ["signing", "throttled"],
  "backend-timeout": ["signing", "timeout or unavailable"],
  "session-lost": ["signing", "unavailable"],
  reset: ["signing", "unavailable"],
  hang: ["signing", "timeout"],
  "hang-after-headers": ["signing", "timeout"],
  slow: ["signing", "timeout"],
  truncated: ["signing", "integrity or unavailable"],
  empty: ["signing", "integrity"],
  html: ["signing", "unavailable or integrity"],
  corrupted: ["signing", "integrity or bad_signature"],
  "corrupted-request": ["signing", "integrity"],
  "missing-checksum": ["signing", "integrity"],
  "wrong-key": ["signing", "wrong_key"],
  "foreign-signature": ["signing", "bad_signature or wrong_key"],
  "bad-signature": ["signing", "bad_signature"],
  "malformed-signature": ["signing", "integrity or bad_signature"],
  "out-of-range-signature": ["signing", "bad_signature or integrity"],
  "access-denied": ["signing", "access_denied"],
  "expired-credentials": ["signing", "access_denied"],
  "key-not-found": ["signing", "key_not_found"],
  "key-disabled": ["signing", "key_disabled"],
  "key-destroyed": ["signing", "key_disabled or key_not_found"],
  "unsupported-key": ["opening", "unsupported_key"],
  "ambiguous-key": ["opening", "ambiguous_key"],
  "key-pending": ["opening", "key_disabled or unavailable or timeout"],
  "pin-incorrect": ["opening", "pin_incorrect"],
  "pin-locked": ["opening", "pin_locked"],
};

test("each fault has its codes, in the name of its check", () => {
  const names = signerChecks(createReferenceBackend().harness).map(({ name }) => name);
  const found = names.flatMap((name) => {
    const [, fails, fault, codes] =
      /^bare: (signing|opening) while (\S+) rejects with ([a-z_ ]+?)(?: in time)?, and/.exec(name) ?? [];
    return fault === undefined ? [] : [[fault, [fails, codes]]];
  });
  expect(Object.fromEntries(found)).toEqual(CODES);
});

test.each<[code: SignerErrorCode, passes: boolean]>([
  ["throttled", true],
  ["integrity", true],
  ["unsupported_key", true],
  ["unavailable", true],
  ["timeout", true],
  ["wrong_key", false],
  ["access_denied", false],
])(
  "opening while a backend is damaged may reject with what its answers for a key lead to: %s %s",
  async (code, passes) => {
    const backend = createReferenceBackend();
    const open = async (policy?: Parameters<typeof backend.open>[0]): ReturnType<typeof backend.open> => {
      if (backend.fault() === "throttle") throw new SignerError(code, "made up");
      return backend.open(policy);
    };
    const checks = signerChecks({ ...backend.harness, open });
    const run = checks.find(({ name }) => name.startsWith("bare: opening while throttle works"))?.run;
    const outcome = await run?.().then(
      () => "passed",
      (error: unknown) => String(error),
    );
    expect(outcome).toEqual(passes ? "passed" : expect.stringContaining(`rejected with code ${code}`));
  },
);
