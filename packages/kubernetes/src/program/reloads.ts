/** Reloads, one at a time. */
export interface Reloads {
  /** Loads when no other load runs, and after the start. Several requests meanwhile are one. */
  request(): void;
  /** From now on, requests are served. */
  start(): void;
  /** Resolves when no load runs. */
  idle(): Promise<void>;
}

/** `reload` never rejects. */
export function createReloads(reload: () => Promise<void>): Reloads {
  let wanted = false;
  let started = false;
  let running: Promise<void> | undefined;

  const work = async (): Promise<void> => {
    while (wanted) {
      wanted = false;
      await reload();
    }
    running = undefined;
  };
  const begin = (): void => {
    if (started && wanted) running ??= work();
  };

  return {
    request() {
      wanted = true;
      begin();
    },
    start() {
      started = true;
      begin();
    },
    idle: () => running ?? Promise.resolve(),
  };
}
