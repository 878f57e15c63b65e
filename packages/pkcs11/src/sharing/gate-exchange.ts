import { BroadcastChannel } from "node:worker_threads";
import type { Gate } from "../wire/gate.ts";

/** A thread's answer about a module: its gate, or that it is only opening or about to close the module. */
export type GateAnswer = Gate | "pending";

type Message =
  | { readonly type: "ask"; readonly module: string; readonly opening: number }
  | { readonly type: "answer"; readonly module: string; readonly opening: number; readonly answer: GateAnswer };

/** Reaches every thread of this process, and no other process. */
const CHANNEL = "signpost:pkcs11";

/**
 * The answer of the first thread that uses the module, or undefined if none answers before `until`, a time in milliseconds
 * or another event. `opening` is the asker's number. When two threads open the same module, the numbers decide which one
 * goes first.
 */
export type AskForGate = (opening: number, until: number | Promise<unknown>) => Promise<GateAnswer | undefined>;

/** Finds the other threads of this process, and copies of this package, that use a module. */
export interface GateExchange {
  ask(module: string, ...question: Parameters<AskForGate>): ReturnType<AskForGate>;
  close(): void;
}

/** `find` answers others. `onAnswer`: another thread has answered. */
export function createGateExchange(
  find: (module: string, opening: number) => GateAnswer | undefined,
  onAnswer: () => void,
): GateExchange {
  const channel = new BroadcastChannel(CHANNEL);
  const questions = new Map<number, (answer: GateAnswer) => void>();
  const receive = (message: Message): void => {
    const { module, opening } = message;
    if (message.type === "answer") {
      if (questions.has(opening)) onAnswer();
      return questions.get(opening)?.(message.answer);
    }
    const answer = find(module, opening);
    if (answer !== undefined) channel.postMessage({ type: "answer", module, opening, answer } satisfies Message);
  };
  channel.addEventListener("message", (event) => receive((event as unknown as { data: Message }).data));
  channel.unref();

  return {
    ask: async (module, opening, until) => {
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise<GateAnswer | undefined>((resolve) => {
          // A thread that was busy all this time has answers waiting. They are read before the immediates.
          const late = (): unknown => setImmediate(() => resolve(undefined));
          if (typeof until === "number") timer = setTimeout(late, until);
          else until.then(late, late);
          questions.set(opening, resolve);
          channel.postMessage({ type: "ask", module, opening } satisfies Message);
        });
      } finally {
        clearTimeout(timer);
        questions.delete(opening);
      }
    },
    close: () => channel.close(),
  };
}
