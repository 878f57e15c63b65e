// What the threads of one process that use one module have in common, whichever of them opened it: a few numbers in shared
// memory. C_Finalize under somebody's call crashes some modules, so it waits until nobody is inside, and nobody enters meanwhile.

import { createHash, randomInt } from "node:crypto";

/** Numbers by the places below. */
export type Gate = Int32Array<SharedArrayBuffer>;

/** Threads with signers on the module. Once there is none the gate is dead: no thread joins one that is finalizing. */
const USERS = 0;
/** Commands that are inside the module. */
const INSIDE = 1;
/** 1 while a thread finalizes. */
const CLOSED = 2;
/** 1 when one of the users got CKR_OK from C_Initialize: the module is theirs to finalize. */
const OWNED = 3;
/** Counts the lives of the module. Handles of sessions and objects do not outlive one, and come again for others. */
const GENERATION = 4;
/** When C_Finalize was last called to start the module again. Milliseconds of the monotonic clock that all threads have, never 0, */
const RENEWED_AT = 6;
/** and of the wall clock, since the other one may stand still while the machine sleeps. */
const RENEWED_AT_WALL = 7;
/** Tells gates apart: shared memory has no identity of its own in another thread. */
const ID = 5;
/** What the module was initialized with: the beginning of a hash, 0 for nothing. */
const PARAMETERS = 8;

/** Whoever makes it is its first user. `libraryParameters`: what the module is initialized with. */
export function createGate(libraryParameters?: string): Gate {
  const gate = new Int32Array(new SharedArrayBuffer(9 * Int32Array.BYTES_PER_ELEMENT));
  gate[USERS] = 1;
  gate[ID] = randomInt(2 ** 31);
  gate[PARAMETERS] = parametersNumber(libraryParameters);
  return gate;
}

/** Whether both are one gate, also where one came from another thread. */
export function isSameGate(a: Gate, b: Gate): boolean {
  return a[ID] === b[ID];
}

/** Whether the gate was made for a module that is initialized with this. */
export function isInitializedWith(gate: Gate, libraryParameters: string | undefined): boolean {
  return gate[PARAMETERS] === parametersNumber(libraryParameters);
}

function parametersNumber(libraryParameters: string | undefined): number {
  if (libraryParameters === undefined) return 0;
  return createHash("sha256").update(libraryParameters).digest().readInt32LE();
}

/** One more user. False when the last one has left: it finalizes the module, or has done so. */
export function addUser(gate: Gate): boolean {
  for (;;) {
    const users = userCount(gate);
    if (users === 0) return false;
    if (Atomics.compareExchange(gate, USERS, users, users + 1) === users) return true;
  }
}

/** True when it was the last one. */
export function removeUser(gate: Gate): boolean {
  return Atomics.sub(gate, USERS, 1) === 1;
}

/** Threads with signers on the module. */
export function userCount(gate: Gate): number {
  return Atomics.load(gate, USERS);
}

/** Whether the module is ours to finalize. */
export function isOwned(gate: Gate): boolean {
  return Atomics.load(gate, OWNED) === 1;
}

/** Says whether the module is ours to finalize. */
export function setOwned(gate: Gate, owned: boolean): void {
  Atomics.store(gate, OWNED, owned ? 1 : 0);
}

/** Which life of the module this is. */
export function generation(gate: Gate): number {
  return Atomics.load(gate, GENERATION);
}

/** The module was finalized or initialized: what there was of sessions and objects is gone. */
export function startGeneration(gate: Gate): void {
  Atomics.add(gate, GENERATION, 1);
}

/** Milliseconds since the last fresh start, of whichever thread, by the faster clock. Infinity before the first. */
export function sinceRenewal(gate: Gate): number {
  const at = Atomics.load(gate, RENEWED_AT);
  if (at === 0) return Number.POSITIVE_INFINITY;
  // Both differences are right where 32 bits have wrapped around. The first one counts to 49 days, since it cannot be negative.
  return Math.max((milliseconds() - at) >>> 0, (wallMilliseconds() - Atomics.load(gate, RENEWED_AT_WALL)) | 0);
}

/** Takes the next fresh start for this thread. False when the last one is not `intervalMs` ago. */
export function claimRenewal(gate: Gate, intervalMs: number): boolean {
  const before = Atomics.load(gate, RENEWED_AT);
  if (sinceRenewal(gate) < intervalMs) return false;
  // First, so that no thread sees the new time on the one clock and the old one on the other, and takes it for due.
  Atomics.store(gate, RENEWED_AT_WALL, wallMilliseconds());
  return Atomics.compareExchange(gate, RENEWED_AT, before, milliseconds()) === before;
}

function milliseconds(): number {
  return Number(process.hrtime.bigint() / 1_000_000n) | 0 || 1;
}

function wallMilliseconds(): number {
  return Date.now() | 0;
}

/** Runs calls of the module, once no thread is finalizing it. Blocks: for worker threads. */
export function inside<Result>(gate: Gate, calls: () => Result): Result {
  enter(gate);
  try {
    return calls();
  } finally {
    leave(gate);
  }
}

/**
 * Runs C_Finalize or C_Initialize once nobody is inside. False when that took longer than `timeoutMs`. Blocks: for worker
 * threads.
 */
export function alone(gate: Gate, timeoutMs: number, calls: () => void): boolean {
  const deadline = performance.now() + timeoutMs;
  while (Atomics.compareExchange(gate, CLOSED, 0, 1) !== 0) {
    if (!waitWhile(gate, CLOSED, 1, deadline)) return false;
  }
  try {
    for (;;) {
      const count = Atomics.load(gate, INSIDE);
      if (count === 0) break;
      if (!waitWhile(gate, INSIDE, count, deadline)) return false;
    }
    calls();
    return true;
  } finally {
    Atomics.store(gate, CLOSED, 0);
    Atomics.notify(gate, CLOSED);
  }
}

function enter(gate: Gate): void {
  for (;;) {
    Atomics.wait(gate, CLOSED, 1);
    Atomics.add(gate, INSIDE, 1);
    if (Atomics.load(gate, CLOSED) === 0) return;
    leave(gate);
  }
}

function leave(gate: Gate): void {
  Atomics.sub(gate, INSIDE, 1);
  Atomics.notify(gate, INSIDE);
}

function waitWhile(gate: Gate, place: number, value: number, deadline: number): boolean {
  const left = deadline - performance.now();
  return left > 0 && Atomics.wait(gate, place, value, left) !== "timed-out";
}
