import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { forgetRefusedPins } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type SoftHsm, type SoftHsmToken, startSoftHsm } from "@signpost/test-backends/softhsm";

/** How long tools may take to make all tokens and keys, on a busy machine. Milliseconds. */
const START_MS = 300_000;

/** A token, and a module that no other stage uses: a library of its own, with a shim in front of it. */
export interface Stage {
  readonly token: string;
  readonly shim: Pkcs11Shim;
}

/** Runs cases that mostly wait. */
export interface Stages {
  /**
   * Calls `play` for each item, for as many at the same time as there are stages. Faults are over and refused PINs are
   * forgotten before a stage is used again.
   */
  each<Item>(items: readonly Item[], play: (stage: Stage, item: Item) => Promise<void>): Promise<void>;
  /** Same, with items that depend on the stage: it makes as many for each. */
  eachOf<Item>(
    itemsOf: (stage: Stage) => readonly Item[],
    play: (stage: Stage, item: Item) => Promise<void>,
  ): Promise<void>;
}

/** So many stages for the tests of a file. Each token has the key `k1`, and this PIN. */
export function useStages(count: number, pin: string): Stages {
  const stages: Stage[] = [];
  let hsm: SoftHsm | undefined;

  beforeAll(async () => {
    hsm = await startSoftHsm({ pin });
    const tokens: SoftHsmToken[] = [hsm];
    while (tokens.length < count) tokens.push(await hsm.addToken({ pin }));
    await Promise.all(tokens.map((token) => token.generateKey({ label: "k1", id: "01" })));
    for (const [number, { tokenLabel }] of tokens.entries()) {
      const library = join(hsm.directory, `library-${number}.so`);
      await copyFile(hsm.module, library);
      stages.push({ token: tokenLabel, shim: await startShim(library) });
    }
  }, START_MS);
  const tidy = async (): Promise<void> => {
    for (const { shim } of stages) shim.clear();
    await forgetRefusedPins();
  };
  afterEach(tidy);
  afterAll(async () => {
    for (const { shim } of stages) await shim.stop();
    await hsm?.stop();
  });
  const eachOf: Stages["eachOf"] = async (itemsOf, play) => {
    const queues = stages.map((stage, at) => ({
      stage,
      queue: itemsOf(stage).filter((_item, number) => number % stages.length === at),
    }));
    const rounds = Math.max(...queues.map(({ queue }) => queue.length));
    for (let round = 0; round < rounds; round += 1) {
      await Promise.all(
        queues.flatMap(({ stage, queue }) => queue.slice(round, round + 1).map((item) => play(stage, item))),
      );
      await tidy();
    }
  };
  return { eachOf, each: (items, play) => eachOf(() => items, play) };
}
