/** Counts the calls that hang inside one module, from any thread. While there is one, the module is not finalized. */
export class HangingCalls {
  #count = 0;
  readonly #onHang: (() => void)[] = [];
  readonly #onReturned: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  /** A call hangs (1), or has returned (-1). */
  change(difference: 1 | -1): void {
    this.#count += difference;
    const settled = this.#count > 0 ? this.#onHang : this.#onReturned;
    for (const resolve of settled.splice(0)) resolve();
  }

  /** Resolves once a call hangs. */
  async some(): Promise<void> {
    if (this.#count === 0) await new Promise<void>((resolve) => this.#onHang.push(resolve));
  }

  /** Resolves once none does. */
  async none(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#onReturned.push(resolve));
  }
}
