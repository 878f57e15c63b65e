/** While calls are under way the child speaks four times a second. It is looked after this often. Milliseconds. */
const WATCH_MS = 1_000;
/** Nothing was heard between so many looks: it is stopped or stuck. Looks, not time: this process may have been busy itself. */
const SILENT_LOOKS = 5;
/** The same before its first word: a busy machine starts programs slowly. */
const SILENT_LOOKS_AT_START = 20;

/** Notices that a child says nothing any more while an answer of it is awaited. */
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
