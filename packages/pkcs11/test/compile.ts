import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * vitest's global set-up. Worker threads and child processes of `@signpost/pkcs11` are started from compiled files, also
 * when the sources are what is tested: Node 20 runs no TypeScript. Up to date, this takes a fraction of a second.
 */
export default function compile(): void {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const { status, stdout } = spawnSync("node_modules/.bin/tsc", ["-b", "packages/pkcs11"], {
    cwd: root,
    encoding: "utf8",
  });
  // Type errors are the type gate's to report; the files are written in spite of them.
  if (status !== 0) process.stderr.write(`packages/pkcs11 was compiled with errors:\n${stdout}`);
}
