import { beforeAll, describe, expect, test } from "vitest";
import { pinLedger } from "../src/pool/pin-ledger.ts";
import type { TokenPool } from "../src/pool/pool.ts";
import { releaseModule, retainModule } from "../src/pool/registry.ts";
import type { PooledSession } from "../src/pool/session.ts";
import { pinSource } from "../src/request/pin.ts";
import { selectToken } from "../src/request/select-token.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { sha256, until } from "./support/signing.ts";

const at = useShimmedToken();
beforeAll(() => at.generateCarefulKey());

const HANG_MS = 2_000;
const digest = sha256(Buffer.from("a message"));

/** A pool with one session, as the signers of a token share it. */
async function withPool(
  pin: () => Promise<string> | string,
  work: (pool: TokenPool, session: PooledSession) => Promise<void>,
): Promise<void> {
  const module = await retainModule({ module: at.shim.module, libraryParameters: undefined });
  const pool = await module.retainPool(selectToken(await module.tokens(), { token: at.hsm.tokenLabel }), pinLedger());
  await pool.start(pinSource(pin), 1);
  const [session] = pool.sessions.all;
  if (session === undefined) throw new Error("expected a session");
  try {
    await work(pool, session);
  } finally {
    await module.releasePool(pool);
    await releaseModule(module);
  }
}

describe("a key whose signer is closed", () => {
  test("is forgotten by the threads, and others stay", async () => {
    await withPool(
      () => at.hsm.pin,
      async (pool, session) => {
        const input = {
          query: { object: Buffer.from("k1") },
          publicKey: undefined,
          pin: pinSource(at.hsm.pin),
          hangMs: HANG_MS,
        };
        const first = await pool.openKey(input);
        const second = await pool.openKey(input);
        const sign = (key: number): Promise<unknown> => session.thread.run("sign", { key, digest });
        expect(await sign(first.key)).toHaveLength(64);
        pool.closeKey(first.key);
        expect([...session.keys.keys()]).toEqual([second.key]);
        // CKR_OBJECT_HANDLE_INVALID: the thread has no handle for it any more.
        await expect(sign(first.key)).rejects.toMatchObject({ code: 0x82 });
        expect(await sign(second.key)).toHaveLength(64);
      },
    );
  });

  test("is forgotten after its last signature, when that is being made", async () => {
    await withPool(
      () => at.hsm.pin,
      async (pool, session) => {
        const { key } = await pool.openKey({
          query: { object: Buffer.from("k1") },
          publicKey: undefined,
          pin: pinSource(at.hsm.pin),
          hangMs: HANG_MS,
        });
        at.shim.delay("C_Sign", 200);
        const signing = pool.sign({ key, digest, hangMs: HANG_MS, call: {} });
        await until(() => at.shim.counter("inFlight") === 1);
        pool.closeKey(key);
        expect((await signing).signature).toHaveLength(64);
        await until(() => session.keys.size === 0);
      },
    );
  });

  test("that could not be proven is not kept", async () => {
    await withPool(
      () => at.hsm.pin,
      async (pool, session) => {
        at.shim.tamper("flip");
        const opening = pool.openKey({
          query: { object: Buffer.from("k1") },
          publicKey: undefined,
          pin: pinSource(at.hsm.pin),
          hangMs: HANG_MS,
        });
        await expect(opening).rejects.toMatchObject({ code: "bad_signature" });
        await until(() => session.keys.size === 0);
      },
    );
  });
});

describe("a PIN for one signature", () => {
  test("does not stay in the thread: the next signature needs it again", async () => {
    await withPool(
      () => at.hsm.pin,
      async (pool, session) => {
        const { key } = await pool.openKey({
          query: { object: Buffer.from("careful") },
          publicKey: undefined,
          pin: pinSource(at.hsm.pin),
          hangMs: HANG_MS,
        });
        // CKR_USER_NOT_LOGGED_IN, by our own check: C_Sign is not asked.
        const calls = at.shim.calls("C_Sign");
        await expect(session.thread.run("sign", { key, digest })).rejects.toMatchObject({ code: 0x101 });
        expect(at.shim.calls("C_Sign")).toBe(calls);
      },
    );
  });
});

describe("a pool that closes", () => {
  test("rejects a signature that waits for its PIN with closed", async () => {
    let answer: (pin: string) => void = () => {};
    let asked = 0;
    let slow = false;
    const pin = (): Promise<string> | string => {
      asked += 1;
      return slow ? new Promise<string>((resolve) => (answer = resolve)) : at.hsm.pin;
    };
    await withPool(pin, async (pool) => {
      const { key } = await pool.openKey({
        query: { object: Buffer.from("careful") },
        publicKey: undefined,
        pin: pinSource(at.hsm.pin),
        hangMs: HANG_MS,
      });
      slow = true;
      const before = asked;
      const signing = [1, 2].map(() =>
        pool.sign({ key, digest, hangMs: HANG_MS, call: {} }).catch((error: unknown) => error),
      );
      await until(() => asked > before);
      await pool.close();
      answer(at.hsm.pin);
      expect(await Promise.all(signing)).toMatchObject([{ code: "closed" }, { code: "closed" }]);
    });
  });
});
