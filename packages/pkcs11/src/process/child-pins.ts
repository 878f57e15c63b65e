import type { LoginPins, PinTry } from "../pool/login-pins.ts";
import type { PinSource } from "../request/pin.ts";
import type { OpenInput, ToChild, ToParent } from "../wire/child-messages.ts";
import type { PinOutcome, PinVerdict } from "../wire/pin-outcomes.ts";
import type { TokenName } from "../wire/token-name.ts";
import { fromWire } from "../wire/wire-error.ts";

type PinAnswer = Extract<ToChild, { type: "pin" | "pinVerdict" }>;
type PinQuestion = Extract<ToParent, { type: "pin" | "comparePin" }>;
/** A question without its number, each member of the union by itself. */
type Unnumbered = PinQuestion extends infer Member
  ? Member extends PinQuestion
    ? Omit<Member, "question">
    : never
  : never;

/**
 * The PINs as the child sees them: only the parent knows them, and what tokens refused. It is asked before each login, and
 * told what became of the PIN.
 */
export class ChildPins implements LoginPins {
  /** The parent forgets, and tells the child with the next answer. */
  readonly forgotten = 0;
  readonly #send: (message: ToParent) => void;
  readonly #open: Map<number, (answer: PinAnswer) => void> = new Map();
  readonly #numbers: WeakMap<PinSource, number> = new WeakMap();
  #next = 0;

  /** `send` reaches the parent. */
  constructor(send: (message: ToParent) => void) {
    this.#send = send;
  }

  /** Stands for the source of a key in the parent. */
  source({ pin, pinName }: Pick<OpenInput, "pin" | "pinName">): PinSource {
    const read = async (): Promise<string> => {
      throw new Error("only the parent process knows the PIN");
    };
    const source: PinSource = { name: pinName, identity: pin, read };
    this.#numbers.set(source, pin);
    return source;
  }

  async take(source: PinSource, token: TokenName): Promise<PinTry> {
    const answer = await this.#ask({ type: "pin", pin: this.#number(source), token });
    if (answer.type !== "pin" || answer.pin === undefined) throw errorOf(answer);
    const { question, pin } = answer;
    let settled = false;
    const done = (outcome: PinOutcome): void => {
      if (!settled) this.#send({ type: "pinOutcome", question, outcome });
      settled = true;
    };
    return { pin, done };
  }

  async compare(source: PinSource, token: TokenName, accepted: PinSource | undefined): Promise<PinVerdict> {
    const answer = await this.#ask({
      type: "comparePin",
      pin: this.#number(source),
      token,
      accepted: accepted === undefined ? undefined : this.#number(accepted),
    });
    if (answer.type !== "pinVerdict" || answer.verdict === undefined) throw errorOf(answer);
    return answer.verdict;
  }

  /** No other thread is logged in to the child's module. */
  offer(): () => void {
    return () => {};
  }

  answered(answer: PinAnswer): void {
    this.#open.get(answer.question)?.(answer);
    this.#open.delete(answer.question);
  }

  #ask(message: Unnumbered): Promise<PinAnswer> {
    return new Promise((resolve) => {
      const question = this.#next++;
      this.#open.set(question, resolve);
      this.#send({ ...message, question });
    });
  }

  #number(source: PinSource): number {
    return this.#numbers.get(source) ?? -1;
  }
}

function errorOf({ error }: PinAnswer): Error {
  return error === undefined ? new Error("the parent process has no PIN") : fromWire(error);
}
