/** Work that others may have to wait for, each with what it is about. */
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

  /** What is under way now about such subjects: resolves once that has succeeded or failed. Undefined where nothing is. */
  settled(isAbout: (subject: Subject) => boolean): Promise<unknown> | undefined {
    const work = [...this.#work].filter(([, subject]) => isAbout(subject)).map(([promise]) => promise);
    return work.length === 0 ? undefined : Promise.allSettled(work);
  }
}
