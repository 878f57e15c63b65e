/** Holds back who waits while it is shut. */
export interface Gate {
  /** Resolves when the gate is open. */
  passed(): Promise<void>;
  shut(): void;
  open(): void;
}

export function createGate(): Gate {
  let waiting: (() => void)[] | undefined;
  const open = (): void => {
    for (const pass of waiting ?? []) pass();
    waiting = undefined;
  };
  return {
    passed: async () => {
      const held = waiting;
      if (held !== undefined) await new Promise<void>((pass) => held.push(pass));
    },
    shut: () => {
      waiting ??= [];
    },
    open,
  };
}
