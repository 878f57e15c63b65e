// What the threads of one process that use one module have in common, whichever of them opened it: a few numbers in shared
// memory. C_Finalize under somebody's call crashes some modules, so it waits until nobody is inside, and nobody enters meanwhile.

/** Numbers by the places below. */
export type Gate = Int32Array<SharedArrayBuffer>;

/** Threads with signers on the module. */
const USERS = 0;
/** Commands that are inside the module. */
const INSIDE = 1;
/** 1 while somebody finalises. */
const CLOSED = 2;
/** 1 when one of the users got CKR_OK from C_Initialize: the module is theirs to finalise. */
const OWNED = 3;
/** Counts the calls of C_Finalize. Handles of sessions and objects do not outlive one, and come again for others. */
const GENERATION = 4;

export function createGate(): Gate {
  return new Int32Array(new SharedArrayBuffer(5 * Int32Array.BYTES_PER_ELEMENT));
}

export function addUser(gate: Gate): void {
  Atomics.add(gate, USERS, 1);
}

/** True when it was the last one. */
export function removeUser(gate: Gate): boolean {
  return Atomics.sub(gate, USERS, 1) === 1;
}

export function userCount(gate: Gate): number {
  return Atomics.load(gate, USERS);
}

export function isOwned(gate: Gate): boolean {
  return Atomics.load(gate, OWNED) === 1;
}

export function setOwned(gate: Gate, owned: boolean): void {
  Atomics.store(gate, OWNED, owned ? 1 : 0);
}

export function generation(gate: Gate): number {
  return Atomics.load(gate, GENERATION);
}

/** Runs calls of the module, once nobody is finalising it. Blocks: for worker threads. */
export function inside<Result>(gate: Gate, calls: () => Result): Result {
  enter(gate);
  try {
    return calls();
  } finally {
    leave(gate);
  }
}

/** Runs C_Finalize once nobody is inside. False when that took longer than `timeoutMs`. Blocks: for worker threads. */
export function alone(gate: Gate, timeoutMs: number, finalize: () => void): boolean {
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
    Atomics.add(gate, GENERATION, 1);
    finalize();
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
