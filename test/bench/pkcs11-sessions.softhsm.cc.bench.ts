// The effect of sessions: signatures per second against the limit of N / 25 ms, and the effect on the rest of the process.
import { fork } from "node:child_process";
import { pbkdf2, randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { GuardedSigner } from "@signpost/core";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { concurrently, runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";
import type { KeyPlace } from "./pkcs11-peers.ts";
import { openThreads } from "./pkcs11-threads.ts";

const DELAY_MS = 25;
const SESSIONS = [1, 4, 16, 64];
const SESSIONS_OF_NEIGHBOURS = 16;
const LOOP_DELAY_TARGET_MS = 2;
const OBSERVED_MS = 400;
/** 98 % of the throughput of the pool by hand. */
const LEVEL = 1 / 0.98;

/**
 * Signatures of each session before the first row: in a process that serves, the engine has long compiled what it
 * interprets at first. The module is faster meanwhile, but slow enough that all sessions sign and no call is late.
 */
const WARM_UP_ROUNDS = 1_000;
const WARM_UP_SIGNATURES_PER_MS = 8;

/**
 * Signatures of each session after that, if the module does not wait. A session looks only at one of 128 whether the module computes,
 * and its signer lets fewer threads compute once some have seen it.
 */
const COMPUTING_ROUNDS = 300;

const digest = randomBytes(32);

interface Ours {
  readonly signer: GuardedSigner;
  readonly shim: Pkcs11Shim;
  readonly where: KeyPlace;
}

async function warmUp(shim: Pkcs11Shim, delayMs: number, sessions: number, run: Contender["run"]): Promise<void> {
  shim.delay("C_Sign", Math.max(1, sessions / WARM_UP_SIGNATURES_PER_MS));
  await run(sessions * WARM_UP_ROUNDS);
  shim.delay("C_Sign", delayMs);
  if (delayMs === 0) await run(sessions * COMPUTING_ROUNDS);
}

await runBench({
  name: "pkcs11-sessions",
  title: "PKCS#11: throughput by number of sessions, and the effect on the rest of the process",
  packages: ["@signpost/pkcs11", "pkcs11js"],
  setUp: async () => {
    const hsm = await startSoftHsm();
    await hsm.generateKey({ label: "k1", id: "01" });
    const ends: (() => Promise<unknown>)[] = [];
    const pairings: Pairing[] = [];
    for (const sessions of SESSIONS) {
      const ours = await openOurs(sessions, DELAY_MS);
      const byHand = await openByHand(sessions);
      const peer = { name: `pkcs11js by hand, pool of ${sessions} threads`, run: byHand };
      const sizes = { operations: sessions * 8, pairs: 15, idealMs: DELAY_MS / sessions };
      pairings.push(
        {
          name: `module of ${DELAY_MS} ms, ${sessions} sessions`,
          ours: { name: "guarded signer", run: concurrently(sessions, () => ours.signer.sign(digest)) },
          peer,
          ...sizes,
          target: { ratio: LEVEL },
        },
        { ...(await threadsByHand(ours, sessions)), peer, ...sizes },
      );
    }
    for (const delayMs of [0, DELAY_MS]) {
      const { signer, where } = await openOurs(SESSIONS_OF_NEIGHBOURS, delayMs);
      pairings.push(...neighboursOf(() => signer.sign(digest), delayMs));
      if (delayMs > 0) continue;
      const { sign, close } = await openThreads(where, 1);
      ends.unshift(close);
      pairings.push(loopDelayByHand(sign));
    }
    return {
      pairings,
      tearDown: async () => {
        for (const end of ends) await end();
        await hsm.stop();
      },
    };

    async function openOurs(sessions: number, delayMs: number): Promise<Ours> {
      const shim = await startShim(hsm.module);
      const where: KeyPlace = { module: shim.module, token: hsm.tokenLabel, label: "k1", pin: hsm.pin };
      const { label: object, ...rest } = where;
      const signer = await openPkcs11Signer({ ...rest, object, sessions });
      // Further sessions are opened when they are needed.
      await warmUp(
        shim,
        delayMs,
        sessions,
        concurrently(sessions, () => signer.sign(digest)),
      );
      ends.push(async () => {
        shim.clear();
        await signer.close();
        await shim.stop();
      });
      return { signer, shim, where };
    }

    /** The least that a free event loop takes: one thread for each session, without a guard or a check. */
    async function threadsByHand({ shim, where }: Ours, sessions: number): Promise<Pick<Pairing, "name" | "ours">> {
      const { name, sign, close } = await openThreads(where, sessions);
      const run = concurrently(sessions, sign);
      await warmUp(shim, DELAY_MS, sessions, run);
      ends.unshift(close);
      return { name: `module of ${DELAY_MS} ms, ${sessions} sessions, worker threads by hand`, ours: { name, run } };
    }

    async function openByHand(sessions: number): Promise<Contender["run"]> {
      const shim = await startShim(hsm.module);
      const where: KeyPlace = { module: shim.module, token: hsm.tokenLabel, label: "k1", pin: hsm.pin };
      const child = fork(
        new URL("./pkcs11-binding-program.js", import.meta.url),
        [JSON.stringify(where), String(sessions)],
        { env: { ...process.env, UV_THREADPOOL_SIZE: String(sessions) } },
      );
      await once(child, "message");
      const run = async (operations: number): Promise<number> => {
        child.send(operations);
        const [ms] = (await once(child, "message")) as [number];
        return ms;
      };
      await warmUp(shim, DELAY_MS, sessions, run);
      ends.push(async () => {
        shim.clear();
        child.disconnect();
        await once(child, "exit");
        await shim.stop();
      });
      return run;
    }
  },
});

/** The same work while signing and in an idle process. */
function neighboursOf(sign: () => Promise<unknown>, delayMs: number): Pairing[] {
  const row = (what: string, observe: () => Promise<number>): Pairing => ({
    name: `${what} while ${SESSIONS_OF_NEIGHBOURS} sessions sign, module of ${delayMs} ms`,
    ours: { name: "signing", run: () => whileSigning(sign, observe) },
    peer: { name: "idle", run: observe },
    pairs: 10,
    target: { addedMs: LOOP_DELAY_TARGET_MS },
  });
  return [row("event loop delay, p99,", loopDelayP99), row("stat, lookup and pbkdf2 in libuv's pool", poolWork)];
}

/** The same delay where one thread computes by hand: the least that signing at full speed causes. */
function loopDelayByHand(sign: () => Promise<unknown>): Pairing {
  return {
    name: "event loop delay, p99, while one worker thread by hand signs, module of 0 ms",
    ours: { name: "signing", run: () => whileSigning(sign, loopDelayP99) },
    peer: { name: "idle", run: loopDelayP99 },
    pairs: 10,
  };
}

async function whileSigning(sign: () => Promise<unknown>, observe: () => Promise<number>): Promise<number> {
  let over = false;
  const callers = Array.from({ length: SESSIONS_OF_NEIGHBOURS }, async () => {
    while (!over) await sign();
  });
  await pause(2 * DELAY_MS);
  const reading = await observe();
  over = true;
  await Promise.all(callers);
  return reading;
}

async function loopDelayP99(): Promise<number> {
  const resolution = 1;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  await pause(OBSERVED_MS);
  delay.disable();
  return delay.percentile(99) / 1e6 - resolution;
}

async function poolWork(): Promise<number> {
  const rounds = 20;
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all([stat("."), lookup("localhost"), promisify(pbkdf2)("a", "b", 10, 32, "sha256")]);
  }
  return (performance.now() - startedAt) / rounds;
}
