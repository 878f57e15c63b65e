/** A timer that fires so late shows that the event loop was busy. Milliseconds. */
const LATE_MS = 5;

/**
 * Watches the command that runs in a thread. One timer serves many commands: it is not stopped when a command returns, but
 * looks what has become due when it fires.
 */
export class HangWatch {
  readonly #onHang: () => void;
  #dueAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #firesAt = 0;
  #beganAt = 0;

  constructor(onHang: () => void) {
    this.#onHang = onHang;
  }

  /** A command begins. Undefined: it may take as long as it wants. */
  begin(hangMs: number | undefined): void {
    this.#beganAt = performance.now();
    if (hangMs === undefined) return this.end();
    this.#dueAt = this.#beganAt + hangMs;
    if (this.#timer !== undefined && this.#firesAt <= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#start(hangMs);
  }

  /** Milliseconds since the last command began. */
  sinceBegin(): number {
    return performance.now() - this.#beganAt;
  }

  /** No command runs. */
  end(): void {
    this.#dueAt = undefined;
  }

  #start(ms: number): void {
    this.#firesAt = performance.now() + ms;
    // The thread keeps the process alive while a command runs.
    this.#timer = setTimeout(() => this.#look(), ms).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const dueAt = this.#dueAt;
    if (dueAt === undefined) return;
    const leftMs = Math.ceil(dueAt - performance.now());
    if (leftMs > 0) return this.#start(leftMs);
    if (performance.now() - this.#firesAt < LATE_MS) return this.#hangs(dueAt);
    // The event loop was busy, and the answer may already be there. It is read before this.
    setImmediate(() => this.#hangs(dueAt));
  }

  /** Unless it has returned. */
  #hangs(dueAt: number): void {
    if (this.#dueAt !== dueAt) return;
    this.#dueAt = undefined;
    this.#onHang();
  }
}
