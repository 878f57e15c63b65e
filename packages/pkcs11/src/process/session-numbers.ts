/** Sessions cannot be sent to another process, so each has a number there. In the child. */
export class SessionNumbers {
  readonly #numbers: WeakMap<object, number> = new WeakMap();
  #next = 0;

  numberOf(session: object): number {
    const known = this.#numbers.get(session);
    if (known !== undefined) return known;
    const number = this.#next++;
    this.#numbers.set(session, number);
    return number;
  }
}

/** More sessions than a token has open at the same time. A forgotten one only has to be proven once more. */
const MOST = 256;

/** Objects that represent the sessions of one child, by their numbers there. In the parent. */
export class SessionsOfChild {
  readonly #sessions: Map<number, object> = new Map();

  at(number: number): object {
    const known = this.#sessions.get(number);
    if (known !== undefined) return known;
    const session = {};
    this.#sessions.set(number, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MOST && oldest !== undefined) this.#sessions.delete(oldest);
    return session;
  }
}
