/** Running work that other work may have to wait for, each with its subject. */
export class UnderWay<Subject> {
  readonly #work: Map<Promise<unknown>, Subject> = new Map();

  get some(): boolean {
    return this.#work.size > 0;
  }

  async add<Value>(work: Promise<Value>, subject: Subject): Promise<Value> {
    this.#work.set(work, subject);
    try {
      return await work;
    } finally {
      this.#work.delete(work);
    }
  }

  /** Resolves once the current work on such subjects has succeeded or failed. Undefined if there is none. */
  settled(isAbout: (subject: Subject) => boolean): Promise<unknown> | undefined {
    const work = [...this.#work].filter(([, subject]) => isAbout(subject)).map(([promise]) => promise);
    return work.length === 0 ? undefined : Promise.allSettled(work);
  }
}
