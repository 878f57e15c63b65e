import { BroadcastChannel } from "node:worker_threads";
import type { Gate } from "../gate.ts";

type Message =
  | { readonly type: "ask"; readonly module: string }
  | { readonly type: "gate"; readonly module: string; readonly gate: Gate };

/** Reaches every thread of this process, and no other process. */
const CHANNEL = "signpost:pkcs11";
/** A thread that is busy answers late; one that has nothing to do with the module does not answer. Milliseconds. */
const ANSWER_MS = 1_000;

/** Finds the other threads of this process, and copies of this package, that use a module. */
export interface GateExchange {
  /** The gate of whoever has the module open, or undefined when nobody answers. */
  ask(module: string): Promise<Gate | undefined>;
  close(): void;
}

/** `find` answers others: the gate of a module that is open here, once it is certain which one that is. */
export function createGateExchange(find: (module: string) => Promise<Gate | undefined>): GateExchange {
  const channel = new BroadcastChannel(CHANNEL);
  const questions = new Map<string, (gate: Gate) => void>();
  let open = true;
  const receive = async (message: Message): Promise<void> => {
    if (message.type === "gate") return questions.get(message.module)?.(message.gate);
    const gate = await find(message.module);
    if (open && gate !== undefined)
      channel.postMessage({ type: "gate", module: message.module, gate } satisfies Message);
  };
  channel.addEventListener("message", (event) => void receive((event as unknown as { data: Message }).data));
  channel.unref();

  const ask = async (module: string): Promise<Gate | undefined> => {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Gate | undefined>((resolve) => {
        timer = setTimeout(() => resolve(undefined), ANSWER_MS);
        questions.set(module, resolve);
        channel.postMessage({ type: "ask", module } satisfies Message);
      });
    } finally {
      clearTimeout(timer);
      questions.delete(module);
    }
  };
  return {
    ask,
    close: () => {
      open = false;
      channel.close();
    },
  };
}
