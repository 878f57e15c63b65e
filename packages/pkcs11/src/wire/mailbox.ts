// Memory that a session thread shares with its caller's thread: a ring of digests to sign, and their signatures. A thread
// that has just signed waits here for the next digest, because two messages take longer than everything else around
// C_Sign. Every other command is a message, and so is the first signature after a pause.

/** Digests that can be handed over before the first one is signed. A power of two. */
export const DEPTH = 4;

/** Numbers that both threads change, by their places. */
export const CELL = {
  /** While the thread takes digests, twice the count of those handed over, and one more if it is called away. Else `AWAY`. */
  turn: 0,
  /** The count of those that are settled. */
  settled: 1,
  /** Messages sent to the thread. */
  posted: 2,
  /** Twice the count of the signatures that were watched, and one more if the last one slept. */
  watched: 3,
} as const;

/** The thread is in its event loop, where only a message reaches it. */
export const AWAY = -1;

/** What became of a digest. */
export const OUTCOME = { pending: 0, begun: 1, signed: 2, failed: 3, skipped: 4, withdrawn: 5 } as const;

/** One digest, and its signature. */
export interface Slot {
  /** Three numbers: the command, the key, and the outcome. */
  readonly cells: Int32Array<SharedArrayBuffer>;
  readonly digest: Uint8Array<SharedArrayBuffer>;
  readonly signature: Uint8Array<SharedArrayBuffer>;
}

/** The places of the numbers in `Slot.cells`. */
export const SLOT = { id: 0, key: 1, outcome: 2 } as const;

/** The memory, and its parts. */
export interface Mailbox {
  readonly memory: SharedArrayBuffer;
  readonly cells: Int32Array<SharedArrayBuffer>;
  readonly slots: readonly Slot[];
}

const HEAD_BYTES = Object.keys(CELL).length * Int32Array.BYTES_PER_ELEMENT;
const SLOT_CELL_BYTES = Object.keys(SLOT).length * Int32Array.BYTES_PER_ELEMENT;
export const DIGEST_BYTES = 32;
const SIGNATURE_BYTES = 64;
const SLOT_BYTES = SLOT_CELL_BYTES + DIGEST_BYTES + SIGNATURE_BYTES;

/** A new mailbox, or the other end of one. */
export function openMailbox(memory?: SharedArrayBuffer): Mailbox {
  const shared = memory ?? new SharedArrayBuffer(HEAD_BYTES + DEPTH * SLOT_BYTES);
  const cells = new Int32Array(shared, 0, Object.keys(CELL).length);
  if (memory === undefined) cells[CELL.turn] = AWAY;
  return { memory: shared, cells, slots: Array.from({ length: DEPTH }, (_, index) => slotAt(shared, index)) };
}

function slotAt(memory: SharedArrayBuffer, index: number): Slot {
  const start = HEAD_BYTES + index * SLOT_BYTES;
  const digest = start + SLOT_CELL_BYTES;
  return {
    cells: new Int32Array(memory, start, Object.keys(SLOT).length),
    digest: new Uint8Array(memory, digest, DIGEST_BYTES),
    signature: new Uint8Array(memory, digest + DIGEST_BYTES, SIGNATURE_BYTES),
  };
}

/** The slot of the digest with this count. */
export function slotOf({ slots }: Mailbox, count: number): Slot {
  const slot = slots[count % DEPTH];
  if (slot === undefined) throw new RangeError("count");
  return slot;
}

const COUNTS = 2 ** 29;

/** The next count. Counts start again from 0, long before a cell has no room for them. */
export function after(count: number): number {
  return (count + 1) % COUNTS;
}

/** How many counts lie between two. */
export function between(first: number, last: number): number {
  return (last - first + COUNTS) % COUNTS;
}
