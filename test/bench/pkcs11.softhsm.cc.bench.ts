// Our signer against three ways to do it by hand, on one token of SoftHSM: how many signatures a second, and how late a
// timer is meanwhile. The module answers immediately, or takes 25 ms for C_Sign, as an HSM on the network does.
import { randomBytes } from "node:crypto";
import { setImmediate as immediate } from "node:timers/promises";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { concurrently, runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";
import { openBinding, openGraphene, openWebCrypto, type Pkcs11Peer } from "./pkcs11-peers.ts";
import { openThreads } from "./pkcs11-threads.ts";

const SESSIONS = 4;
const CALLERS = 16;
/** Ours as a multiple of the code by hand, and of other libraries, with a module that answers immediately. */
const LEVEL = 1.05;
const AHEAD = 1;

interface Row {
  readonly delayMs: number;
  /** Signatures in one sample, and timers. */
  readonly operations: number;
  readonly timers: number;
  readonly pairs: number;
}

const ROWS: readonly Row[] = [
  { delayMs: 0, operations: 160, timers: 50, pairs: 40 },
  { delayMs: 25, operations: 32, timers: 50, pairs: 12 },
];

await runBench({
  name: "pkcs11",
  title: `PKCS#11: ${SESSIONS} sessions, ${CALLERS} callers`,
  packages: ["@signpost/pkcs11", "pkcs11js", "graphene-pk11", "node-webcrypto-p11"],
  setUp: async () => {
    const hsm = await startSoftHsm();
    await hsm.generateKey({ label: "k1", id: "01" });
    const shim = await startShim(hsm.module);
    const where = { module: shim.module, token: hsm.tokenLabel, label: "k1", pin: hsm.pin };
    const { label: object, ...rest } = where;
    const signer = await openPkcs11Signer({ ...rest, object, sessions: SESSIONS });
    const digest = randomBytes(32);
    const ours: Pkcs11Peer = { name: "guarded signer", sign: () => signer.sign(digest), close: () => signer.close() };
    const async = openBinding(where, "async", SESSIONS);
    const byHand = [openBinding(where, "sync", 1), async];
    // The least that a free event loop takes: one separate thread, as Signpost uses on two processors.
    const thread = await openThreads(where, 1);
    const libraries = [openGraphene(where, SESSIONS), await openWebCrypto(where, SESSIONS)];
    const peers = [...byHand, thread, ...libraries];
    return {
      pairings: ROWS.flatMap((row) => [
        ...byHand.flatMap((peer) => pairingsOf(row, shim, ours, peer, LEVEL)),
        ...libraries.flatMap((peer) => pairingsOf(row, shim, ours, peer, AHEAD)),
        ...(row.delayMs === 0 ? [threadByHand(row, shim, thread, async)] : []),
      ]),
      tearDown: async () => {
        for (const peer of peers) await peer.close();
        await ours.close();
        await shim.stop();
        await hsm.stop();
      },
    };
  },
});

/** `ratio` is for a signature with a module that answers immediately. */
function pairingsOf(row: Row, shim: Pkcs11Shim, ours: Pkcs11Peer, peer: Pkcs11Peer, ratio: number): readonly Pairing[] {
  const of = (run: (peer: Pkcs11Peer) => Contender["run"]): Pick<Pairing, "ours" | "peer"> => ({
    ours: { name: ours.name, run: withDelay(shim, row.delayMs, run(ours)) },
    peer: { name: peer.name, run: withDelay(shim, row.delayMs, run(peer)) },
  });
  const name = `module of ${row.delayMs} ms`;
  return [
    {
      name: `${name}: a signature against ${peer.name}`,
      ...of((contender) => concurrently(CALLERS, contender.sign)),
      operations: row.operations,
      pairs: row.pairs,
      ...(row.delayMs === 0 ? { target: { ratio } } : {}),
    },
    {
      name: `${name}: a timer of 1 ms against ${peer.name}`,
      ...of(timersWhileSigning),
      operations: row.timers,
      pairs: row.pairs,
    },
  ];
}

function threadByHand(
  { delayMs, operations, pairs }: Row,
  shim: Pkcs11Shim,
  thread: Pkcs11Peer,
  peer: Pkcs11Peer,
): Pairing {
  return {
    name: `module of ${delayMs} ms: a signature by a worker thread by hand against ${peer.name}`,
    ours: { name: thread.name, run: withDelay(shim, delayMs, concurrently(CALLERS, thread.sign)) },
    peer: { name: peer.name, run: withDelay(shim, delayMs, concurrently(CALLERS, peer.sign)) },
    operations,
    pairs,
  };
}

function withDelay(shim: Pkcs11Shim, delayMs: number, run: Contender["run"]): Contender["run"] {
  return async (operations) => {
    shim.delay("C_Sign", delayMs);
    await run(operations);
  };
}

/** Timers one after another, with callers that sign all the time. */
function timersWhileSigning({ sign }: Pkcs11Peer): Contender["run"] {
  return async (operations) => {
    const done = new AbortController();
    // No more callers than sessions, so that no call is left waiting at the end.
    const callers = Array.from({ length: SESSIONS }, async () => {
      while (!done.signal.aborted) {
        await sign();
        // Requests come as events, not as microtasks: a peer that never waits would let no timer through at all.
        await immediate();
      }
    });
    for (let timer = 0; timer < operations; timer += 1) await new Promise((resolve) => setTimeout(resolve, 1));
    done.abort();
    await Promise.all(callers);
  };
}
