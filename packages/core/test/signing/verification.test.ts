import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createKeySet, guardSigner, signWith, type Signer } from "@signpost/core";
import { failure } from "../support/failure.ts";
import { type Behaviour, scriptedSigner, signs } from "../support/scripted-signer.ts";

/** For each verification, where it ran: with a callback, `verify` runs in libuv's pool. */
const places = vi.hoisted((): ("loop" | "pool")[] => []);
/** While this is set, the pool does nothing. Called later, each of these lets it do one verification. */
const pool = vi.hoisted((): { blocked: (() => void)[] | undefined } => ({ blocked: undefined }));

vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof import("node:crypto")>();
  const verify = (...args: Parameters<typeof crypto.verify>): unknown => {
    places.push(args.length === 5 ? "pool" : "loop");
    const run = (): unknown => crypto.verify(...args);
    return args.length === 5 && pool.blocked !== undefined ? void pool.blocked.push(run) : run();
  };
  return { ...crypto, verify };
});

beforeEach(() => {
  places.splice(0);
  pool.blocked = undefined;
});
afterEach(() => void vi.useRealTimers());

const signsWithAnotherKey: Behaviour = ({ digest }) => scriptedSigner().signer.sign(digest);
const active = (signer: Signer): ReturnType<typeof createKeySet>["active"] => createKeySet([{ signer }]).active;
const sign = (entry: ReturnType<typeof active>, text: string, verify?: "first"): Promise<Uint8Array> =>
  signWith(entry, Buffer.from(text), { verify });

test("a single call is verified on the event loop", async () => {
  const entry = active(scriptedSigner().signer);
  await sign(entry, "one");
  await sign(entry, "two");
  expect(places).toEqual(["loop", "loop"]);
});

test("calls at the same time are verified in the pool", async () => {
  const entry = active(scriptedSigner().signer);
  await Promise.all(["one", "two", "three"].map((text) => sign(entry, text)));
  expect(places).toContain("pool");
  await sign(entry, "later");
  expect(places.at(-1)).toBe("loop");
});

test("calls that failed count no longer", async () => {
  const fails = (): never => {
    throw new Error("gone");
  };
  const entry = active(scriptedSigner(fails, fails, signs).signer);
  await Promise.allSettled([sign(entry, "one"), sign(entry, "two")]);
  await sign(entry, "three");
  expect(places).toEqual(["loop"]);
});

test("while other work blocks the pool, signatures are verified on the event loop, and bad ones are refused", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const blocked: (() => void)[] = (pool.blocked = []);
  const entry = active(scriptedSigner(signs, signsWithAnotherKey, signs).signer);
  const calls = [sign(entry, "one"), sign(entry, "two"), sign(entry, "three")];
  const outcomes = Promise.allSettled(calls);
  await vi.waitFor(() => expect(blocked).toHaveLength(3));
  await vi.advanceTimersByTimeAsync(250);
  expect(await outcomes).toMatchObject([
    { status: "fulfilled" },
    { status: "rejected", reason: { code: "bad_signature" } },
    { status: "fulfilled" },
  ]);
  expect(places).toEqual(["pool", "pool", "pool", "loop", "loop", "loop"]);

  // No other call waits for the pool.
  await Promise.all([sign(entry, "four"), sign(entry, "five")]);
  expect(places.slice(6)).toEqual(["loop", "loop"]);

  // Until it has caught up.
  pool.blocked = undefined;
  for (const run of blocked) run();
  await vi.waitFor(async () => {
    places.splice(0);
    await Promise.all([sign(entry, "six"), sign(entry, "seven")]);
    expect(places).toContain("pool");
  });
});

test("after a busy event loop, signatures that the pool has verified meanwhile are not verified again", async () => {
  const signsThenBlocks: Behaviour = (call) => {
    setImmediate(() => {
      const until = performance.now() + 300;
      while (performance.now() < until);
    });
    return call.sign();
  };
  const entry = active(scriptedSigner(signs, signs, signsThenBlocks).signer);
  await Promise.all(["one", "two", "three"].map((text) => sign(entry, text)));
  expect(places).toEqual(["pool", "pool", "pool"]);
});

test("a place that made a bad signature must prove itself again, also if an earlier signature is verified later", async () => {
  const blocked: (() => void)[] = (pool.blocked = []);
  const entry = active(scriptedSigner(signs, signsWithAnotherKey, signs).signer);
  const good = sign(entry, "good");
  const bad = failure(sign(entry, "bad"));
  await vi.waitFor(() => expect(blocked).toHaveLength(2));
  blocked[1]?.();
  expect(await bad).toMatchObject({ code: "bad_signature" });
  blocked[0]?.();
  await good;
  pool.blocked = undefined;
  places.splice(0);
  await sign(entry, "next", "first");
  expect(places).toHaveLength(1);
  await sign(entry, "last", "first");
  expect(places).toHaveLength(1);
});

test("a place that made a bad signature must prove itself again, also if a later signature is verified earlier", async () => {
  const blocked: (() => void)[] = (pool.blocked = []);
  const signsSecond: Behaviour = async (call) => {
    await vi.waitFor(() => expect(blocked).toHaveLength(1));
    return call.sign();
  };
  const entry = active(scriptedSigner(signsWithAnotherKey, signsSecond, signsWithAnotherKey).signer);
  const bad = failure(sign(entry, "bad", "first"));
  const good = sign(entry, "good", "first");
  await vi.waitFor(() => expect(blocked).toHaveLength(2));
  blocked[1]?.();
  await good;
  blocked[0]?.();
  expect(await bad).toMatchObject({ code: "bad_signature" });
  pool.blocked = undefined;
  expect(await failure(sign(entry, "next", "first"))).toMatchObject({ code: "bad_signature" });
});

test.each<[string, (signer: Signer) => Signer]>([
  ["by signWith", (signer) => signer],
  ["by a guard", (signer) => guardSigner(signer)],
])("a place must also prove itself again after a result that is not a signature, refused %s", async (_, wrap) => {
  const { signer } = scriptedSigner(signs, () => new Uint8Array(64), signsWithAnotherKey);
  const entry = active(wrap(signer));
  await sign(entry, "one", "first");
  expect(await failure(sign(entry, "two", "first"))).toMatchObject({ code: "bad_signature" });
  expect(await failure(sign(entry, "three", "first"))).toMatchObject({ code: "bad_signature" });
});
