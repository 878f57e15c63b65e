import { describe, expect, test } from "vitest";
import { BROKEN_ABORTS } from "./broken-aborts.ts";
import { BROKEN_CONCURRENCY } from "./broken-concurrency.ts";
import { BROKEN_DIGESTS } from "./broken-digests.ts";
import { BROKEN_ENDINGS } from "./broken-endings.ts";
import { BROKEN_IDENTITIES } from "./broken-identities.ts";
import { BROKEN_OPENINGS } from "./broken-openings.ts";
import { BROKEN_SECRECY } from "./broken-secrecy.ts";
import { BROKEN_SIGNATURES } from "./broken-signatures.ts";
import { isOfFault, testThatChecksFail, unproven } from "./proof.ts";

const BROKEN_SIGNERS = [
  ...BROKEN_IDENTITIES,
  ...BROKEN_SIGNATURES,
  ...BROKEN_DIGESTS,
  ...BROKEN_ABORTS,
  ...BROKEN_CONCURRENCY,
  ...BROKEN_ENDINGS,
  ...BROKEN_SECRECY,
  ...BROKEN_OPENINGS,
];

describe("a broken signer fails its check", () => {
  testThatChecksFail(BROKEN_SIGNERS);
});

test("every check of a healthy backend has a signer that is broken for it", () => {
  expect(unproven(BROKEN_SIGNERS, (name) => !isOfFault(name))).toEqual([]);
});
