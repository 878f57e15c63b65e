import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * vitest's global set-up: the program is tested as it is started, compiled. Before all tests, since a test that compiles
 * writes what another one reads.
 */
export function setup(): void {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const { status, stdout } = spawnSync("node_modules/.bin/tsc", ["-b", "examples/minimal-op"], {
    cwd: root,
    encoding: "utf8",
  });
  // Type errors are the type gate's to report; the files are written in spite of them.
  if (status !== 0) process.stderr.write(`examples/minimal-op was compiled with errors:\n${stdout}`);
}
