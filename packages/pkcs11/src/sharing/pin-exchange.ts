import { randomInt } from "node:crypto";
import { BroadcastChannel } from "node:worker_threads";
import type { PinMemory, SharedPins } from "./pin-memory.ts";

type Message =
  /** A thread has come, with its own memory. */
  | { readonly type: "hello"; readonly memory: SharedPins }
  /** All that a thread knows of. */
  | { readonly type: "known"; readonly memories: readonly SharedPins[] }
  | Question
  | Answer;

/** The tag is of the memory with this order. */
interface Question {
  readonly type: "ask";
  readonly question: number;
  readonly what: What;
  readonly order: string;
  readonly tag: Uint8Array;
}

/** Of the thread whose memory has the order `from`. */
interface Answer {
  readonly type: "answer";
  readonly question: number;
  readonly from: string;
  readonly same: boolean | "asking" | "no source" | "failed";
}

/** Is there a source for the token of the tag, whatever it gives? Or does one give the PIN with the tag now? */
type What = "source" | "PIN";

/**
 * Whether a source of another thread gives a PIN now. `no source`: every other thread said that none of its logins has to do
 * with the token. `silent`: one of them did not answer in time, or its source failed.
 */
export type GivenElsewhere = boolean | "no source" | "silent";

/** Reaches every thread of this process, and no other process. */
const CHANNEL = "signpost:pkcs11:pins";

/** A source of another thread has its own time limit, which is shorter. Milliseconds. */
const ASK_MS = 11_000;
/** A thread that has not said a word by then is busy, or was ended from outside. Milliseconds. */
const SILENCE_MS = 500;

/** What a thread tells the others. */
export interface PinExchangeEvents {
  /** What another thread knows of. */
  met(memories: readonly SharedPins[]): void;
  /** All that this thread knows of. */
  known(): readonly SharedPins[];
  /**
   * Finds out, without asking a source, whether this thread has one for the token of a tag. Returns how to ask whether it gives
   * the PIN with the tag now. Undefined where it cannot tell: it does not know the memory with this order.
   */
  isGiven(order: string, tag: Uint8Array): (() => Promise<boolean>) | "no source" | undefined;
}

/** Between the threads of this process, as long as they live: what a token refused outlives every signer. */
export interface PinExchange {
  /** `others`: the orders of the memories of the other threads. */
  ask(what: What, order: string, tag: Uint8Array, others: readonly string[]): Promise<GivenElsewhere>;
}

/** `memory`: of this thread. Others answer with what they know. */
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
    // Before the source is asked: it may be a function that keeps this thread busy.
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
          const wait = (ms: number): void => {
            clearTimeout(timer);
            timer = setTimeout(() => resolve("silent"), ms);
          };
          questions.set(question, ({ same, from }) => {
            if (typeof same === "boolean") return resolve(same);
            if (same === "asking") {
              if (asking.size === 0) wait(ASK_MS);
              return void asking.add(from);
            }
            missing.delete(from);
            hasFailed ||= same === "failed";
            if (asking.delete(from) && asking.size === 0) wait(SILENCE_MS);
            if (missing.size === 0 && asking.size === 0) resolve(hasFailed ? "silent" : "no source");
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
