import { pbkdf2 } from "node:crypto";
import { promisify } from "node:util";
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

it("the threads are free again after many, whether they verified or refused", async () => {
  const verifier = idTokens();
  expect(await verifiedHere(64, verifier)).toBe(0);
  const forged = token.slice(0, -86) + "A".repeat(86);
  await Promise.allSettled(Array.from({ length: 64 }, async () => verifier.verify(forged)));
  expect(await verifiedHere(64, verifier)).toBe(0);
});

it("a refused token is no longer in flight", async () => {
  const verifier = idTokens();
  const refused = [token.slice(0, -86) + "A".repeat(86), "", idToken({ aud: "other" }), idToken({}, { kid: "x" })];
  const results = await Promise.allSettled([...refused, ...refused].map((each) => verifier.verify(each)));
  expect(results.every(({ status }) => status === "rejected")).toBe(true);
  expect(await verifiedHere(3, verifier)).toBe(3);
});

it("a caller whose signal aborts does not wait for a thread", async () => {
  const verifier = idTokens();
  await verifier.verify(token);
  // Keeps every thread of the pool busy.
  const busy = Promise.all(Array.from({ length: 8 }, async () => promisify(pbkdf2)("x", "y", 200_000, 64, "sha512")));
  const leaving = new AbortController();
  const all = Promise.allSettled(
    Array.from({ length: 8 }, async () => verifier.verify(token, { signal: leaving.signal })),
  );
  const first = Promise.race([all.then(() => "aborted"), busy.then(() => "waited")]);
  await new Promise((later) => setImmediate(later));
  leaving.abort(new Error("gone"));
  expect(await first).toBe("aborted");
  for (const outcome of await all) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "aborted", cause: new Error("gone") } });
  }
  await busy;
});

it("a forged token has the same error from a thread", async () => {
  const verifier = idTokens();
  const forged = token.slice(0, -86) + "A".repeat(86);
  const refusals = async (count: number): Promise<unknown[]> =>
    Promise.all(Array.from({ length: count }, async () => verifier.verify(forged).catch((error: unknown) => error)));
  const [here] = await refusals(1);
  const [onThread] = await refusals(8);
  expect(here).toMatchObject({ code: "bad_signature" });
  expect(Object.getOwnPropertyNames(onThread)).toEqual(Object.getOwnPropertyNames(here));
});
