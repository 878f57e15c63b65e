import { after, AWAY, between, CELL, DEPTH, type Mailbox, OUTCOME, SLOT, type Slot, slotOf } from "../wire/mailbox.ts";

/** How long the thread waits for the next digest before it returns to its event loop. Milliseconds. */
const WAIT_MS = 250;

/**
 * With more digests to sign, the caller's thread is told of so many outcomes at once. It still hands over digests in time,
 * since there is room for twice as many.
 */
const TOLD_TOGETHER = DEPTH / 2;

/** What an inbox does with the digests. */
export interface InboxWork {
  /** Copies the digest, since shared memory may change, and the module gets ordinary buffers. */
  sign(key: number, digest: Uint8Array): Uint8Array;
  /** A signature failed. The caller needs a message. */
  failed(id: number, error: unknown): void;
}

/** The session thread's end of its mailbox. */
export class Inbox {
  readonly #mailbox: Mailbox;
  readonly #work: InboxWork;
  #settled = 0;
  /** Those of whose outcome the caller's thread was told. */
  #told = 0;

  constructor(mailbox: Mailbox, work: InboxWork) {
    this.#mailbox = mailbox;
    this.#work = work;
  }

  /**
   * Signs what is handed over, until nothing comes for a while, a message is there, or a signature fails. Blocks.
   * `received`: the messages that the thread has received.
   */
  serve(received: number): void {
    const { cells } = this.#mailbox;
    Atomics.store(cells, CELL.turn, 2 * this.#settled);
    // After the turn is set, so that a message is seen here, or its sender sees the turn.
    if (Atomics.load(cells, CELL.posted) !== received) Atomics.or(cells, CELL.turn, 1);
    for (;;) {
      const turn = Atomics.load(cells, CELL.turn);
      if (turn >> 1 !== this.#settled) {
        if (!this.#signNext()) return;
        continue;
      }
      const isCalled = turn % 2 === 1;
      this.#tell();
      if (!isCalled && Atomics.wait(cells, CELL.turn, turn, WAIT_MS) !== "timed-out") continue;
      if (Atomics.compareExchange(cells, CELL.turn, turn, AWAY) === turn) return;
    }
  }

  /** False if it failed. */
  #signNext(): boolean {
    const slot = slotOf(this.#mailbox, this.#settled);
    if (begin(slot) && !this.#sign(slot)) return false;
    this.#settle(after(this.#settled));
    return true;
  }

  #sign({ cells, digest, signature }: Slot): boolean {
    try {
      signature.set(this.#work.sign(cells[SLOT.key] ?? 0, digest));
      Atomics.store(cells, SLOT.outcome, OUTCOME.signed);
      return true;
    } catch (error) {
      Atomics.store(cells, SLOT.outcome, OUTCOME.failed);
      // First, so that whoever gets the message finds the outcomes.
      this.#skipOthers();
      this.#work.failed(cells[SLOT.id] ?? 0, error);
      return false;
    }
  }

  /** A session that failed signs nothing more before its caller has decided what becomes of it. */
  #skipOthers(): void {
    const { cells } = this.#mailbox;
    let count = after(this.#settled);
    for (;;) {
      const turn = Atomics.load(cells, CELL.turn);
      for (; count !== turn >> 1; count = after(count)) {
        Atomics.compareExchange(slotOf(this.#mailbox, count).cells, SLOT.outcome, OUTCOME.pending, OUTCOME.skipped);
      }
      if (Atomics.compareExchange(cells, CELL.turn, turn, AWAY) === turn) break;
    }
    this.#settle(count);
    this.#tell();
  }

  #settle(count: number): void {
    this.#settled = count;
    Atomics.store(this.#mailbox.cells, CELL.settled, count);
    if (between(this.#told, count) >= TOLD_TOGETHER) this.#tell();
  }

  /** Wakes the caller's thread, which takes as long as a tenth of a signature. */
  #tell(): void {
    if (this.#told === this.#settled) return;
    this.#told = this.#settled;
    Atomics.notify(this.#mailbox.cells, CELL.settled);
  }
}

/** False if it was withdrawn. */
function begin({ cells }: Slot): boolean {
  const before = Atomics.compareExchange(cells, SLOT.outcome, OUTCOME.pending, OUTCOME.begun);
  return before === OUTCOME.pending;
}
