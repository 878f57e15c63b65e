import { randomInt } from "node:crypto";
import { BroadcastChannel } from "node:worker_threads";
import type { PinMemory, SharedPins } from "./pin-memory.ts";

type Message =
  /** A thread has started, with its own memory. */
  | { readonly type: "hello"; readonly memory: SharedPins }
  /** Everything that a thread knows about. */
  | { readonly type: "known"; readonly memories: readonly SharedPins[] }
  | Question
  | Answer;

/** The tag is from the memory with this order. */
interface Question {
  readonly type: "ask";
  readonly question: number;
  readonly what: What;
  readonly order: string;
  readonly tag: Uint8Array;
}

/** From the thread whose memory has the order `from`. */
interface Answer {
  readonly type: "answer";
  readonly question: number;
  readonly from: string;
  readonly same: boolean | "asking" | "no source" | "failed";
}

/**
 * Asks whether there is a source for the token of the tag, whatever it returns, or whether one returns the PIN with the tag
 * now.
 */
type What = "source" | "PIN";

/**
 * Whether a source of another thread returns a PIN now: false if each that answered returns another one. `no source`: every
 * other thread answered that none of its logins uses the token. `silent`: a thread did not answer in time, or its source
 * failed.
 */
export type GivenElsewhere = boolean | "no source" | "silent";

/** Reaches every thread of this process, and no other process. */
const CHANNEL = "signpost:pkcs11:pins";

/** Another thread's source has its own, shorter time limit. Milliseconds. */
const ASK_MS = 11_000;
/** A thread that has not answered by then is busy, or was ended from outside. Milliseconds. */
const SILENCE_MS = 500;

/** A thread's messages to the others. */
export interface PinExchangeEvents {
  /** What another thread knows about. */
  met(memories: readonly SharedPins[]): void;
  /** Everything that this thread knows about. */
  known(): readonly SharedPins[];
  /**
   * Finds out, without asking a source, whether this thread has one for the token of a tag. Returns a function that asks
   * whether the source returns the PIN with the tag now. Undefined if it cannot tell, because it does not know the memory
   * with this order.
   */
  isGiven(order: string, tag: Uint8Array): (() => Promise<boolean>) | "no source" | undefined;
}

/** Connects the threads of this process while they live: a token's refusal outlives every signer. */
export interface PinExchange {
  /** `others`: the orders of the other threads' memories. */
  ask(what: What, order: string, tag: Uint8Array, others: readonly string[]): Promise<GivenElsewhere>;
}

/** `memory`: this thread's. Others answer with theirs. */
export function createPinExchange(memory: PinMemory, events: PinExchangeEvents): PinExchange {
  const channel = new BroadcastChannel(CHANNEL);
  const questions = new Map<number, (answer: Answer) => void>();
  const send = (message: Message): void => channel.postMessage(message);
  const receive = (message: Message): void => {
    switch (message.type) {
      case "hello":
        events.met([message.memory]);
        return send({ type: "known", memories: events.known() });
      case "known":
        return events.met(message.memories);
      case "ask":
        return answer(message, events.isGiven(message.order, message.tag));
      case "answer":
        return questions.get(message.question)?.(message);
    }
  };
  const answer = ({ question, what }: Question, isGiven: ReturnType<PinExchangeEvents["isGiven"]>): void => {
    if (isGiven === undefined) return;
    const say = (same: Answer["same"]): void => send({ type: "answer", question, from: memory.order, same });
    if (isGiven === "no source") return say(isGiven);
    if (what === "source") return say(true);
    // Before the source is asked, since it may be a function that keeps this thread busy.
    say("asking");
    isGiven().then(say, () => say("failed"));
  };
  channel.addEventListener("message", (event) => receive((event as unknown as { data: Message }).data));
  channel.unref();
  send({ type: "hello", memory: memory.shared });

  return {
    ask: async (what, order, tag, others) => {
      const missing = new Set(others);
      if (missing.size === 0) return "no source";
      const question = randomInt(2 ** 47);
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise<GivenElsewhere>((resolve) => {
          const asking = new Set<string>();
          let hasFailed = false;
          let hasAnother = false;
          const wait = (ms: number): void => {
            clearTimeout(timer);
            timer = setTimeout(() => resolve("silent"), ms);
          };
          const outcome = (): GivenElsewhere => {
            if (hasAnother) return false;
            return hasFailed ? "silent" : "no source";
          };
          questions.set(question, ({ same, from }) => {
            if (same === true) return resolve(true);
            if (same === "asking") {
              if (asking.size === 0) wait(ASK_MS);
              return void asking.add(from);
            }
            missing.delete(from);
            hasFailed ||= same === "failed";
            // While a PIN is being changed, any of the sources may be the first to return the new one.
            hasAnother ||= same === false;
            if (asking.delete(from) && asking.size === 0) wait(SILENCE_MS);
            if (missing.size === 0 && asking.size === 0) resolve(outcome());
          });
          wait(SILENCE_MS);
          send({ type: "ask", question, order, tag, what });
        });
      } finally {
        clearTimeout(timer);
        questions.delete(question);
      }
    },
  };
}
