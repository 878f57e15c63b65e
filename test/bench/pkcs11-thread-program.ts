// A thread of `openThreads`: C_SignInit and C_Sign, one digest after another.
import { parentPort, workerData } from "node:worker_threads";
import { openSessions } from "./pkcs11-peers.ts";
import { give, handOverIn, type ThreadTask, TURN } from "./pkcs11-threads.ts";

const { where, memory } = workerData as ThreadTask;
const { open, sign, close } = openSessions(where);
const session = open();
const shared = handOverIn(memory);
parentPort?.postMessage("ready");
for (;;) {
  Atomics.wait(shared.turn, 0, TURN.caller);
  if (Atomics.load(shared.turn, 0) === TURN.end) break;
  shared.signature.set(sign(session, Buffer.from(shared.digest)));
  give(shared, TURN.caller);
}
close(session);
