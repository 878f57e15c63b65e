import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("../../faults/dist/main.js", import.meta.url));
const SEED = 1;
const TOKENS = 400;

/** The short form of `npm run faults -- BACKEND`. What a failure prints has the seed, the schedule, and how to repeat it. */
export function campaignTest(backend: string): void {
  test.concurrent(
    `every kind of fault of ${backend} hits ${TOKENS} tokens, and nothing is found`,
    { timeout: 400_000 },
    async () => {
      const args = [PROGRAM, backend, "--seed", String(SEED), "--tokens", String(TOKENS)];
      const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: unknown) => {
        const { stdout: told, stderr } = error as { readonly stdout: string; readonly stderr: string };
        throw new Error(`${told}${stderr}`);
      });
      expect(stdout).toContain("No findings");
    },
  );
}
