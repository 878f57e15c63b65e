import { describe, expect, test } from "vitest";
import { BROKEN_ABORTS } from "./broken-aborts.ts";
import { BROKEN_CONCURRENCY, BROKEN_ENDINGS, BROKEN_IDENTITIES } from "./broken-lives.ts";
import { BROKEN_SECRECY } from "./broken-secrecy.ts";
import { BROKEN_ARGUMENTS, BROKEN_SIGNATURES } from "./broken-signatures.ts";
import { isOfFault, testThatChecksFail, unproven } from "./proof.ts";

const BROKEN_SIGNERS = [
  ...BROKEN_IDENTITIES,
  ...BROKEN_SIGNATURES,
  ...BROKEN_ARGUMENTS,
  ...BROKEN_ABORTS,
  ...BROKEN_CONCURRENCY,
  ...BROKEN_ENDINGS,
  ...BROKEN_SECRECY,
];

describe("a broken signer fails its check", () => {
  testThatChecksFail(BROKEN_SIGNERS);
});

test("every check of a healthy backend has a signer that is broken for it", () => {
  expect(unproven(BROKEN_SIGNERS, (name) => !isOfFault(name))).toEqual([]);
});
