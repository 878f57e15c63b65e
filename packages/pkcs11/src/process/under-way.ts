/** Work that others may have to wait for. */
export class UnderWay {
  readonly #work: Set<Promise<unknown>> = new Set();

  get some(): boolean {
    return this.#work.size > 0;
  }

  async add<Value>(work: Promise<Value>): Promise<Value> {
    this.#work.add(work);
    try {
      return await work;
    } finally {
      this.#work.delete(work);
    }
  }

  /** Resolves once what is under way now has succeeded or failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#work);
  }
}
