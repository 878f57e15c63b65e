import { afterEach, expect, it, vi } from "vitest";
import { isPoolLate } from "@signpost/core/adapter";
import { idToken, idTokens } from "../support/jwt.ts";

// What happens to tokens while other work blocks all threads of libuv's pool, such as files on a mount that hangs.

/** While this is set, the pool does nothing. Called later, each of these lets it do one verification. */
const pool = vi.hoisted((): { blocked: (() => void)[] | undefined } => ({ blocked: undefined }));

vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof import("node:crypto")>();
  const verify = (...args: Parameters<typeof crypto.verify>): unknown => {
    const run = (): unknown => crypto.verify(...args);
    return args.length === 5 && pool.blocked !== undefined ? void pool.blocked.push(run) : run();
  };
  return { ...crypto, verify };
});

const token = idToken();
const forged = token.slice(0, -86) + "A".repeat(86);

const nextTurn = (): Promise<void> => new Promise((later) => setImmediate(later));

afterEach(async () => {
  for (const run of pool.blocked?.splice(0) ?? []) run();
  pool.blocked = undefined;
  await vi.waitUntil(() => !isPoolLate());
});

it("tokens are verified on the event loop after a while, and forged ones are refused", async () => {
  const blocked: (() => void)[] = (pool.blocked = []);
  const verifier = idTokens();
  const outcomes = await Promise.allSettled([token, forged, token, token].map((each) => verifier.verify(each)));
  expect(outcomes).toMatchObject([
    { status: "fulfilled" },
    { status: "rejected", reason: { code: "bad_signature" } },
    { status: "fulfilled" },
    { status: "fulfilled" },
  ]);
  expect(blocked).toHaveLength(4);
});

it("later tokens do not wait for a thread until the pool works again", async () => {
  const blocked: (() => void)[] = (pool.blocked = []);
  const verifier = idTokens();
  const eight = async (): Promise<unknown> =>
    Promise.all(Array.from({ length: 8 }, async () => verifier.verify(token)));
  await eight();
  await eight();
  expect(blocked).toHaveLength(8);
  for (const run of blocked.splice(0)) run();
  await vi.waitUntil(() => !isPoolLate());
  const all = eight();
  await nextTurn();
  expect(blocked).toHaveLength(8);
  for (const run of blocked.splice(0)) run();
  await all;
});
