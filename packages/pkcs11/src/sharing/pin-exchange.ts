import { randomInt } from "node:crypto";
import { BroadcastChannel } from "node:worker_threads";
import type { SharedPins } from "./pin-memory.ts";

type Message =
  /** A thread has come, with a memory of its own. */
  | { readonly type: "hello"; readonly memory: SharedPins }
  /** All that a thread knows of. */
  | { readonly type: "known"; readonly memories: readonly SharedPins[] }
  /** Does anybody's source give the PIN with this tag now? The tag is of the memory with this order. */
  | { readonly type: "ask"; readonly question: number; readonly order: string; readonly tag: Uint8Array }
  | { readonly type: "answer"; readonly question: number; readonly same: boolean | "asking" };

/** Reaches every thread of this process, and no other process. */
const CHANNEL = "signpost:pkcs11:pins";

/** A source of another thread has its own time limit, which is shorter. Milliseconds. */
const ASK_MS = 11_000;
/** Without a word by then, no other thread has to do with the token. Milliseconds. */
const SILENCE_MS = 500;

/** What a thread tells the others. */
export interface PinExchangeEvents {
  /** What another thread knows of. */
  met(memories: readonly SharedPins[]): void;
  /** All that this thread knows of. */
  known(): readonly SharedPins[];
  /** Whether a source of this thread gives the PIN with a tag now, or undefined where it has nothing to do with the token. */
  isGiven(order: string, tag: Uint8Array): Promise<boolean> | undefined;
}

/** Between the threads of this process, as long as they live: what a token refused outlives every signer. */
export interface PinExchange {
  /** Whether a source of another thread gives the PIN now. Undefined when none has to do with the token. */
  ask(order: string, tag: Uint8Array): Promise<boolean | undefined>;
}

/** `memory`: of this thread. Others answer with what they know. */
export function createPinExchange(memory: SharedPins, events: PinExchangeEvents): PinExchange {
  const channel = new BroadcastChannel(CHANNEL);
  const questions = new Map<number, (same: boolean | "asking") => void>();
  const send = (message: Message): void => channel.postMessage(message);
  const receive = (message: Message): void => {
    switch (message.type) {
      case "hello":
        events.met([message.memory]);
        return send({ type: "known", memories: events.known() });
      case "known":
        return events.met(message.memories);
      case "ask":
        return answer(message.question, events.isGiven(message.order, message.tag));
      case "answer":
        return questions.get(message.question)?.(message.same);
    }
  };
  const answer = (question: number, given: Promise<boolean> | undefined): void => {
    if (given === undefined) return;
    send({ type: "answer", question, same: "asking" });
    given.then(
      (same) => send({ type: "answer", question, same }),
      () => {},
    );
  };
  channel.addEventListener("message", (event) => receive((event as unknown as { data: Message }).data));
  channel.unref();
  send({ type: "hello", memory });

  return {
    ask: async (order, tag) => {
      const question = randomInt(2 ** 47);
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise<boolean | undefined>((resolve) => {
          const wait = (ms: number): void => {
            clearTimeout(timer);
            timer = setTimeout(() => resolve(undefined), ms);
          };
          questions.set(question, (same) => (same === "asking" ? wait(ASK_MS) : resolve(same)));
          wait(SILENCE_MS);
          send({ type: "ask", question, order, tag });
        });
      } finally {
        clearTimeout(timer);
        questions.delete(question);
      }
    },
  };
}
