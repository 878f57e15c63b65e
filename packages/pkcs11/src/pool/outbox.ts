import {
  after,
  AWAY,
  between,
  CELL,
  DEPTH,
  DIGEST_BYTES,
  type Mailbox,
  OUTCOME,
  SLOT,
  slotOf,
} from "../wire/mailbox.ts";

/** A digest to sign. */
export interface Outgoing {
  /** The number of the command. */
  readonly id: number;
  readonly key: number;
  readonly digest: Uint8Array;
}

/** What becomes of the digests. */
export interface OutboxEvents {
  signed(id: number, signature: Uint8Array): void;
  /** An earlier one failed, so this one was not begun. */
  skipped(id: number): void;
  /** Whether C_Sign slept. Only some are watched. */
  watched(slept: boolean): void;
}

/** The caller's end of a thread's mailbox. */
export class Outbox {
  readonly #mailbox: Mailbox;
  readonly #events: OutboxEvents;
  #handedOver = 0;
  /** Those whose outcome was read. */
  #read = 0;
  #watched = 0;
  #listening = false;
  #ended = false;

  constructor(mailbox: Mailbox, events: OutboxEvents) {
    this.#mailbox = mailbox;
    this.#events = events;
  }

  /** Digests were handed over whose outcome is not known yet. */
  get inUse(): boolean {
    return this.#handedOver !== this.#read;
  }

  /** Whether `handOver` would probably take a digest. */
  get hasRoom(): boolean {
    const isTaking = Atomics.load(this.#mailbox.cells, CELL.turn) === 2 * this.#handedOver;
    return isTaking && between(this.#read, this.#handedOver) < DEPTH;
  }

  /** False if the thread takes no digest now. If C_Sign fails, a message says so, and `failed` must be called. */
  handOver({ id, key, digest }: Outgoing): boolean {
    if (digest.length !== DIGEST_BYTES || !this.hasRoom) return false;
    const { cells } = this.#mailbox;
    const slot = slotOf(this.#mailbox, this.#handedOver);
    slot.digest.set(digest);
    slot.cells[SLOT.id] = id;
    slot.cells[SLOT.key] = key;
    Atomics.store(slot.cells, SLOT.outcome, OUTCOME.pending);
    const before = this.#handedOver;
    const turn = 2 * before;
    const next = after(before);
    // It may just have gone away.
    if (Atomics.compareExchange(cells, CELL.turn, turn, 2 * next) !== turn) return false;
    this.#handedOver = next;
    // A thread that still has one to settle looks at its turn after that.
    if (Atomics.load(cells, CELL.settled) === before) Atomics.notify(cells, CELL.turn);
    this.#listen();
    return true;
  }

  /** A message follows. A thread that takes digests returns to its event loop after those that it has. */
  callAway(): void {
    const { cells } = this.#mailbox;
    Atomics.add(cells, CELL.posted, 1);
    for (;;) {
      const turn = Atomics.load(cells, CELL.turn);
      if (turn === AWAY || turn % 2 === 1) return;
      if (Atomics.compareExchange(cells, CELL.turn, turn, turn + 1) === turn) break;
    }
    Atomics.notify(cells, CELL.turn);
  }

  /** The message about a failure has arrived. */
  failed(id: number): void {
    if (this.inUse) this.#readOutcomes(id);
  }

  /** Takes back the digests that are not begun. Their numbers. */
  withdraw(): readonly number[] {
    const withdrawn: number[] = [];
    for (let count = this.#read; count !== this.#handedOver; count = after(count)) {
      const { cells } = slotOf(this.#mailbox, count);
      const before = Atomics.compareExchange(cells, SLOT.outcome, OUTCOME.pending, OUTCOME.withdrawn);
      if (before === OUTCOME.pending) withdrawn.push(cells[SLOT.id] ?? 0);
    }
    return withdrawn;
  }

  /** What has an outcome by now, without waiting to be told. */
  read(): void {
    if (this.inUse) this.#readOutcomes(undefined);
  }

  /** The thread has ended. */
  end(): void {
    this.#ended = true;
    Atomics.notify(this.#mailbox.cells, CELL.settled);
  }

  #listen(): void {
    if (this.#listening || this.#ended || !this.inUse) return;
    const waiting = Atomics.waitAsync(this.#mailbox.cells, CELL.settled, this.#read);
    this.#listening = true;
    const heard = (): void => {
      this.#listening = false;
      this.read();
    };
    if (waiting.async) void waiting.value.then(heard);
    else queueMicrotask(heard);
  }

  /** `failure`: the number of the failed command whose message is here. Without it, those after a failure wait for it. */
  #readOutcomes(failure: number | undefined): void {
    this.#readWatched();
    const settled = Atomics.load(this.#mailbox.cells, CELL.settled);
    while (this.#read !== settled) {
      const { cells, signature } = slotOf(this.#mailbox, this.#read);
      const id = cells[SLOT.id] ?? 0;
      const outcome = Atomics.load(cells, SLOT.outcome);
      if (outcome === OUTCOME.failed && id !== failure) return;
      const copy = outcome === OUTCOME.signed ? new Uint8Array(signature) : undefined;
      this.#read = after(this.#read);
      if (copy !== undefined) this.#events.signed(id, copy);
      else if (outcome === OUTCOME.skipped) this.#events.skipped(id);
    }
    this.#listen();
  }

  #readWatched(): void {
    const watched = Atomics.load(this.#mailbox.cells, CELL.watched);
    if (watched === this.#watched) return;
    this.#watched = watched;
    this.#events.watched(watched % 2 === 1);
  }
}
