/** Reloads, one at a time. */
export interface Reloads {
  /** Loads when no other load runs, and after the start. Several requests meanwhile are one. */
  request(): void;
  /** From now on, requests are served, also those of before. `reload` never rejects. */
  start(reload: () => Promise<void>): void;
  /** From now on, requests are ignored. Resolves when no load runs. */
  end(): Promise<void>;
}

export function createReloads(): Reloads {
  let wanted = false;
  let reload: (() => Promise<void>) | undefined;
  let running: Promise<void> | undefined;

  const work = async (): Promise<void> => {
    while (wanted && reload !== undefined) {
      wanted = false;
      await reload();
    }
    running = undefined;
  };
  const begin = (): void => {
    if (wanted && reload !== undefined) running ??= work();
  };

  return {
    request() {
      wanted = true;
      begin();
    },
    start(load) {
      reload = load;
      begin();
    },
    async end() {
      reload = undefined;
      await running;
    },
  };
}
