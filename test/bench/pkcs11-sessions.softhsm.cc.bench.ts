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

const DELAY_MS = 25;
const SESSIONS = [1, 4, 16, 64];
const SESSIONS_OF_NEIGHBOURS = 16;
const LOOP_DELAY_TARGET_MS = 2;
const OBSERVED_MS = 400;
/** 98 % of the throughput of the pool by hand. */
const LEVEL = 1 / 0.98;

const digest = randomBytes(32);

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
      const { signer } = await openOurs(sessions, DELAY_MS);
      const byHand = await openByHand(sessions);
      const idealMs = DELAY_MS / sessions;
      pairings.push({
        name: `module of ${DELAY_MS} ms, ${sessions} sessions`,
        ours: { name: "guarded signer", run: concurrently(sessions, () => signer.sign(digest)) },
        peer: { name: `pkcs11js by hand, pool of ${sessions} threads`, run: byHand },
        operations: sessions * 8,
        pairs: 15,
        idealMs,
        target: { ratio: LEVEL },
      });
    }
    for (const delayMs of [0, DELAY_MS]) {
      const { signer } = await openOurs(SESSIONS_OF_NEIGHBOURS, delayMs);
      pairings.push(...neighboursOf(signer, delayMs));
    }
    return {
      pairings,
      tearDown: async () => {
        for (const end of ends) await end();
        await hsm.stop();
      },
    };

    async function openOurs(sessions: number, delayMs: number): Promise<{ signer: GuardedSigner; shim: Pkcs11Shim }> {
      const shim = await startShim(hsm.module);
      const where = { module: shim.module, token: hsm.tokenLabel, object: "k1", pin: hsm.pin };
      const signer = await openPkcs11Signer({ ...where, sessions });
      // Further sessions are opened when they are needed.
      await Promise.all(Array.from({ length: 4 * sessions }, () => signer.sign(digest)));
      shim.delay("C_Sign", delayMs);
      ends.push(async () => {
        shim.clear();
        await signer.close();
        await shim.stop();
      });
      return { signer, shim };
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
      shim.delay("C_Sign", DELAY_MS);
      ends.push(async () => {
        shim.clear();
        child.disconnect();
        await once(child, "exit");
        await shim.stop();
      });
      return async (operations) => {
        child.send(operations);
        const [ms] = (await once(child, "message")) as [number];
        return ms;
      };
    }
  },
});

/** The same work while signing and in an idle process. */
function neighboursOf(signer: GuardedSigner, delayMs: number): Pairing[] {
  const row = (what: string, observe: () => Promise<number>): Pairing => ({
    name: `${what} while ${SESSIONS_OF_NEIGHBOURS} sessions sign, module of ${delayMs} ms`,
    ours: { name: "signing", run: () => whileSigning(signer, observe) },
    peer: { name: "idle", run: observe },
    pairs: 10,
    target: { addedMs: LOOP_DELAY_TARGET_MS },
  });
  return [row("event loop delay, p99,", loopDelayP99), row("stat, lookup and pbkdf2 in libuv's pool", poolWork)];
}

async function whileSigning(signer: GuardedSigner, observe: () => Promise<number>): Promise<number> {
  let over = false;
  const callers = Array.from({ length: SESSIONS_OF_NEIGHBOURS }, async () => {
    while (!over) await signer.sign(digest);
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
