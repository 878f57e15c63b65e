import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { survivingBytes } from "@signpost/test-backends/minor-collections";
import { useShimmedToken } from "./support/shimmed-token.ts";

const CALLERS = 16;
const ROUNDS = 30;
const CALLS = 4;
const at = useShimmedToken(4);

// What survives a minor collection is copied by it, and meanwhile the event loop is held.
test("a signature leaves nothing that survives minor garbage collections", async () => {
  const signer = await at.opener.open(at.base);
  const digest = randomBytes(32);
  const oneCaller = async (): Promise<void> => {
    for (let call = 0; call < CALLS; call += 1) await signer.sign(digest);
  };
  const round = (): Promise<unknown> => Promise.all(Array.from({ length: CALLERS }, oneCaller));
  await survivingBytes(ROUNDS, round);
  const bytes = await survivingBytes(ROUNDS, round);
  expect(bytes / (ROUNDS * CALLERS * CALLS)).toBeLessThan(1_200);
});
