import { execFile } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { BIN, runCli } from "./support/run-cli.ts";

let folder: KeyFolder;

beforeAll(async () => {
  folder = await createKeyFolder();
  const path = join(folder.path, "signpost");
  await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`);
  await chmod(path, 0o755);
});
afterAll(() => folder[Symbol.asyncDispose]());

async function shell(name: string, args: readonly string[]): Promise<string[]> {
  const env = { ...process.env, PATH: `${folder.path}:${process.env["PATH"]}`, HOME: folder.path };
  const { stdout } = await promisify(execFile)(name, args, { env });
  return stdout.trim().split("\n");
}

/** Calls the function of our script as the shell does after a Tab. */
const BASH = `
source /usr/share/bash-completion/bash_completion
source <(signpost complete bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=\${#COMP_LINE}
__signpost_complete 2>/dev/null
printf '%s\\n' "\${COMPREPLY[@]}"`;

const ZSH = `
compdef() { : }
_describe() { print -rl -- $completions }
source <(signpost complete zsh)
words=("$@") CURRENT=$#
_signpost`;

const FISH = "signpost complete fish | source; complete -C (string join -- ' ' $argv)";

/** What a Tab proposes after these words, without the descriptions. */
const SHELLS: Readonly<Record<string, (words: readonly string[]) => Promise<string[]>>> = {
  bash: (words) => shell("bash", ["-c", BASH, "bash", ...words]),
  zsh: async (words) => (await shell("zsh", ["-f", "-c", ZSH, "zsh", ...words])).map((line) => line.replace(/:.*/, "")),
  fish: async (words) => (await shell("fish", ["-c", FISH, ...words])).map((line) => line.replace(/\t.*/, "")),
};

describe.each(Object.entries(SHELLS))("in %s, a Tab completes", (_name, proposals) => {
  test("a command", async () => {
    expect(await proposals(["signpost", "jw"])).toEqual(["jwks"]);
  });

  test("an option of a command", async () => {
    expect(await proposals(["signpost", "jwks", "--e"])).toEqual(["--etag"]);
  });

  test("an option of a command inside of another", async () => {
    expect(await proposals(["signpost", "rotate", "announce", "--dr"])).toEqual(["--dry-run"]);
  });
});

test("complete has a script for these three shells alone", async () => {
  expect(await runCli(["complete", "tcsh"])).toMatchObject({ code: 2, stdout: "" });
});
