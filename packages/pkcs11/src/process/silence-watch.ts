/** While calls are running the child sends four signs of life a second. This is how often they are checked. Milliseconds. */
const WATCH_MS = 1_000;
/**
 * After this many checks without a sign, the child is stopped or stuck. Counts checks, not time: this process may have been
 * busy itself.
 */
const SILENT_LOOKS = 5;
/** The same before its first message: a busy machine starts programs slowly. */
const SILENT_LOOKS_AT_START = 20;

/** Notices that a child has gone silent while a call is running. */
export class SilenceWatch {
  readonly #onSilent: () => void;
  #silentLooks = 0;
  #heard = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(onSilent: () => void) {
    this.#onSilent = onSilent;
  }

  start(): void {
    this.#silentLooks = 0;
    this.#timer = setInterval(() => {
      this.#silentLooks += 1;
      const most = this.#heard ? SILENT_LOOKS : SILENT_LOOKS_AT_START;
      if (this.#silentLooks > most) this.#onSilent();
    }, WATCH_MS).unref();
  }

  heard(): void {
    this.#silentLooks = 0;
    this.#heard = true;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
