import { describe, expect, test } from "vitest";
import { BROKEN_FAULTS } from "./broken-faults.ts";
import { isOfFault, testThatChecksFail, unproven } from "./proof.ts";

describe("a signer that fails wrongly with its backend fails its check", () => {
  testThatChecksFail(BROKEN_FAULTS);
});

test("every check of a fault has a signer that is broken for it", () => {
  expect(unproven(BROKEN_FAULTS, isOfFault)).toEqual([]);
});
