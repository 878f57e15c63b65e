import { expect, it } from "vitest";
import { idToken, idTokens } from "../support/jwt.ts";

// When a signature is verified on a thread of libuv's pool: by how many tokens are in flight.

const token = idToken();

/** How many of so many tokens are verified here, and not on a thread, which answers in a later turn of the event loop. */
async function verifiedHere(count: number, verifier = idTokens()): Promise<number> {
  await verifier.verify(token);
  let settled = 0;
  const all = Array.from({ length: count }, async () => {
    await verifier.verify(token);
    settled += 1;
  });
  // Microtasks alone.
  for (let step = 0; step < 1000; step += 1) await Promise.resolve();
  const here = settled;
  await Promise.all(all);
  expect(settled).toBe(count);
  return here;
}

it.each([
  [1, 1],
  [3, 3],
  [4, 0],
  [64, 0],
  // The pool may be busy with other work for long.
  [100, 36],
])("of %d at once, %d are verified here", async (count, here) => {
  expect(await verifiedHere(count)).toBe(here);
});

it("a token after many is verified here again", async () => {
  const verifier = idTokens();
  await verifiedHere(100, verifier);
  expect(await verifiedHere(1, verifier)).toBe(1);
});

it("a refused token is no longer in flight", async () => {
  const verifier = idTokens();
  const refused = [token.slice(0, -86) + "A".repeat(86), "", idToken({ aud: "other" }), idToken({}, { kid: "x" })];
  const results = await Promise.allSettled([...refused, ...refused].map((each) => verifier.verify(each)));
  expect(results.every(({ status }) => status === "rejected")).toBe(true);
  expect(await verifiedHere(3, verifier)).toBe(3);
});
