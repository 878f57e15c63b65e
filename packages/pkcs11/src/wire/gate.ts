// The state that all threads of a process share for one module: a few numbers in shared memory. C_Finalize during another
// thread's call crashes some modules. So it waits until no thread is inside, and no thread enters meanwhile.

import { createHash, randomInt } from "node:crypto";

/** Indexes of the numbers. */
export type Gate = Int32Array<SharedArrayBuffer>;

/** Threads with signers on the module. At zero the gate is dead: no thread joins one that is finalizing. */
const USERS = 0;
/** Commands that are inside the module. */
const INSIDE = 1;
/** 1 while a thread finalizes. */
const CLOSED = 2;
/** 1 when one of the users got CKR_OK from C_Initialize, so that they may finalize the module. */
const OWNED = 3;
/**
 * Counts the lives of the module. Handles of sessions and objects end with a life, and later handles may reuse their
 * numbers.
 */
const GENERATION = 4;
/**
 * When C_Finalize was last called to restart the module. Milliseconds of the monotonic clock that all threads share, never
 * 0.
 */
const RENEWED_AT = 6;
/** The same time by the wall clock, since the monotonic one may stop while the machine sleeps. */
const RENEWED_AT_WALL = 7;
/** Identifies the gate: shared memory has no identity in another thread. */
const ID = 5;
/** The parameters of C_Initialize: the start of their hash, 0 for none. */
const PARAMETERS = 8;

/** The creator is the first user. `libraryParameters`: the module's parameters for C_Initialize. */
export function createGate(libraryParameters?: string): Gate {
  const gate = new Int32Array(new SharedArrayBuffer(9 * Int32Array.BYTES_PER_ELEMENT));
  gate[USERS] = 1;
  gate[ID] = randomInt(2 ** 31);
  gate[PARAMETERS] = parametersNumber(libraryParameters);
  return gate;
}

/** Whether both are the same gate, even if one came from another thread. */
export function isSameGate(a: Gate, b: Gate): boolean {
  return a[ID] === b[ID];
}

/** Whether the gate belongs to a module with these parameters. */
export function isInitializedWith(gate: Gate, libraryParameters: string | undefined): boolean {
  return gate[PARAMETERS] === parametersNumber(libraryParameters);
}

function parametersNumber(libraryParameters: string | undefined): number {
  if (libraryParameters === undefined) return 0;
  return createHash("sha256").update(libraryParameters).digest().readInt32LE();
}

/** Adds a user. False when the last one has left and finalizes the module, or already has. */
export function addUser(gate: Gate): boolean {
  for (;;) {
    const users = userCount(gate);
    if (users === 0) return false;
    if (Atomics.compareExchange(gate, USERS, users, users + 1) === users) return true;
  }
}

/** True if it was the last user. */
export function removeUser(gate: Gate): boolean {
  return Atomics.sub(gate, USERS, 1) === 1;
}

/** Threads with signers on the module. */
export function userCount(gate: Gate): number {
  return Atomics.load(gate, USERS);
}

/** Whether we may finalize the module. */
export function isOwned(gate: Gate): boolean {
  return Atomics.load(gate, OWNED) === 1;
}

/** Sets whether we may finalize the module. */
export function setOwned(gate: Gate, owned: boolean): void {
  Atomics.store(gate, OWNED, owned ? 1 : 0);
}

/** The current life of the module. */
export function generation(gate: Gate): number {
  return Atomics.load(gate, GENERATION);
}

/** The module was finalized or initialized: its sessions and objects are gone. */
export function startGeneration(gate: Gate): void {
  Atomics.add(gate, GENERATION, 1);
}

/** Milliseconds since any thread's last fresh start, by the faster clock. Infinity before the first. */
export function sinceRenewal(gate: Gate): number {
  const at = Atomics.load(gate, RENEWED_AT);
  if (at === 0) return Number.POSITIVE_INFINITY;
  // Both differences are right after 32 bits wrap around. The first one counts up to 49 days, since it cannot be negative.
  return Math.max((milliseconds() - at) >>> 0, (wallMilliseconds() - Atomics.load(gate, RENEWED_AT_WALL)) | 0);
}

/** Claims the next fresh start for this thread. False if the last one was less than `intervalMs` ago. */
export function claimRenewal(gate: Gate, intervalMs: number): boolean {
  const before = Atomics.load(gate, RENEWED_AT);
  if (sinceRenewal(gate) < intervalMs) return false;
  // Written first, so that no thread combines the new time of one clock with the old time of the other and starts too
  // early.
  Atomics.store(gate, RENEWED_AT_WALL, wallMilliseconds());
  return Atomics.compareExchange(gate, RENEWED_AT, before, milliseconds()) === before;
}

function milliseconds(): number {
  return Number(process.hrtime.bigint() / 1_000_000n) | 0 || 1;
}

function wallMilliseconds(): number {
  return Date.now() | 0;
}

/** Runs calls into the module once no thread is finalizing it. Blocks: for worker threads. */
export function inside<Result>(gate: Gate, calls: () => Result): Result {
  enter(gate);
  try {
    return calls();
  } finally {
    leave(gate);
  }
}

/**
 * Runs C_Finalize or C_Initialize once no thread is inside. False if that took longer than `timeoutMs`. Blocks: for worker
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
    // Each wait and each notification takes a lock, even if there is nothing to wait for.
    if (Atomics.load(gate, CLOSED) === 1) Atomics.wait(gate, CLOSED, 1);
    Atomics.add(gate, INSIDE, 1);
    if (Atomics.load(gate, CLOSED) === 0) return;
    leave(gate);
  }
}

function leave(gate: Gate): void {
  Atomics.sub(gate, INSIDE, 1);
  // Only a thread that has closed the gate waits. If it closes the gate after this, it reads the new count.
  if (Atomics.load(gate, CLOSED) === 1) Atomics.notify(gate, INSIDE);
}

function waitWhile(gate: Gate, place: number, value: number, deadline: number): boolean {
  const left = deadline - performance.now();
  return left > 0 && Atomics.wait(gate, place, value, left) !== "timed-out";
}
