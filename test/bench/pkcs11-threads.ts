// pkcs11js by hand in separate threads: what the event loop's freedom costs at least, without a guard or a check.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { digest, type KeyPlace, type Pkcs11Peer, pooled } from "./pkcs11-peers.ts";

/** What a thread starts with. */
export interface ThreadTask {
  readonly where: KeyPlace;
  readonly memory: SharedArrayBuffer;
}

/** Memory that a thread and its caller share: whose turn it is, a digest and its signature. */
export interface HandOver {
  readonly turn: Int32Array<SharedArrayBuffer>;
  readonly digest: Uint8Array<SharedArrayBuffer>;
  readonly signature: Uint8Array<SharedArrayBuffer>;
}

export const TURN = { caller: 0, thread: 1, end: 2 } as const;

export function handOverIn(memory: SharedArrayBuffer): HandOver {
  return {
    turn: new Int32Array(memory, 0, 1),
    digest: new Uint8Array(memory, 4, 32),
    signature: new Uint8Array(memory, 36, 64),
  };
}

/** A session in each of `count` threads. The module is initialized, and the token logged in, by a signer of this process. */
export async function openThreads(where: KeyPlace, count: number): Promise<Pkcs11Peer> {
  const threads = await Promise.all(Array.from({ length: count }, () => openThread(where)));
  return {
    name: `pkcs11js by hand, ${count} ${count === 1 ? "worker thread" : "worker threads"}`,
    sign: pooled(threads, signIn),
    close: async () => {
      await Promise.all(threads.map(endThread));
    },
  };
}

interface Thread extends HandOver {
  readonly worker: Worker;
}

async function openThread(where: KeyPlace): Promise<Thread> {
  const memory = new SharedArrayBuffer(100);
  const workerData: ThreadTask = { where, memory };
  const worker = new Worker(new URL("./pkcs11-thread-program.js", import.meta.url), { workerData });
  await once(worker, "message");
  return { worker, ...handOverIn(memory) };
}

async function signIn(thread: Thread): Promise<Uint8Array> {
  thread.digest.set(digest);
  give(thread, TURN.thread);
  await Atomics.waitAsync(thread.turn, 0, TURN.thread).value;
  return new Uint8Array(thread.signature);
}

async function endThread(thread: Thread): Promise<void> {
  const exited = once(thread.worker, "exit");
  give(thread, TURN.end);
  await exited;
}

/** Gives the turn to the other side. */
export function give({ turn }: HandOver, next: number): void {
  Atomics.store(turn, 0, next);
  Atomics.notify(turn, 0);
}
