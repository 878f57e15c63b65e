import { childrenOf } from "./processes.ts";
import { until } from "./signing.ts";

/** The child process of this process that holds the module, once there is exactly one. */
export async function moduleChild(parent: number = process.pid): Promise<number> {
  let children: readonly number[] = [];
  await until(() => (children = childrenOf(parent)).length === 1);
  return children[0] ?? 0;
}

/** A PIN that can be changed, and how often it was asked for. */
export interface AskedPin {
  value: string;
  asked: number;
  readonly ask: () => Promise<string>;
}

export function askedPin(value: string): AskedPin {
  const pin: AskedPin = {
    value,
    asked: 0,
    ask: async () => {
      pin.asked += 1;
      return pin.value;
    },
  };
  return pin;
}
