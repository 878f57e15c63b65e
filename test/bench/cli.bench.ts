import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { runBench } from "./harness.ts";
import type { Contender } from "./harness.ts";

/** On top of a Node that does nothing. Milliseconds. */
const TARGET_ADDED_MS = 60;

const bin = join(dirname(createRequire(import.meta.url).resolve("@signpost/cli/package.json")), "dist/bin.js");

await runBench({
  name: "cli",
  title: "The signpost command: from its start to its end, compared with a Node that does nothing",
  packages: ["@signpost/core"],
  setUp: async () => ({
    pairings: [
      {
        name: "signpost --help",
        ours: running("signpost --help", [bin, "--help"]),
        peer: running("node -e 0", ["-e", "0"]),
        pairs: 24,
        target: { addedMs: TARGET_ADDED_MS },
      },
    ],
    tearDown: async () => undefined,
  }),
});

/** How long a process takes from its start to its end. */
function running(name: string, args: readonly string[]): Contender {
  return {
    name,
    run: async () => {
      const started = performance.now();
      const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
      const [code] = (await once(child, "exit")) as [number | null];
      if (code !== 0) throw new Error(`${name} ended with ${code}`);
      return performance.now() - started;
    },
  };
}
