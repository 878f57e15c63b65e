import type { ToParent } from "../wire/child-messages.ts";
import { toWire } from "../wire/wire-error.ts";

/** The parent's calls that are running in the child. */
export class ChildCalls {
  readonly #send: (message: ToParent) => void;
  readonly #onAnswered: () => void;
  readonly #underWay: Map<number, AbortController> = new Map();

  constructor(send: (message: ToParent) => void, onAnswered: () => void) {
    this.#send = send;
    this.#onAnswered = onAnswered;
  }

  get some(): boolean {
    return this.#underWay.size > 0;
  }

  async answer(call: number, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const aborting = new AbortController();
    this.#underWay.set(call, aborting);
    try {
      this.#send({ type: "answer", call, value: await work(aborting.signal) });
    } catch (error) {
      this.#send({ type: "error", call, error: toWire(error) });
    } finally {
      this.#underWay.delete(call);
      this.#onAnswered();
    }
  }

  /** No caller is waiting for it any more. */
  abort(call: number): void {
    this.#underWay.get(call)?.abort();
  }
}
