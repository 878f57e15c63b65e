import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../lib/process.mjs";
import { cacheFolder, ROOT } from "../lib/repository.mjs";
import { missingOf } from "./runtimes/check-rows.mjs";

const WORKFLOWS = ".github/workflows";

/** Checks the workflow files: two linters without network, and the pins. */
export async function checkWorkflows() {
  const files = readdirSync(join(ROOT, WORKFLOWS)).map((name) => join(WORKFLOWS, name));
  const texts = Object.fromEntries(files.map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));
  const problems = [...pinProblems(texts), ...ownerProblems(texts)];
  const missing = await missingOf(["actionlint", "zizmor"]);
  problems.push(...missing.problems);
  if (!missing.names.includes("actionlint")) problems.push(...(await lintSyntax(files)));
  if (!missing.names.includes("zizmor")) problems.push(...(await lintSecurity([".github"])));
  return { ok: problems.length === 0, output: problems.join("\n") };
}

/** @param {readonly string[]} paths */
export async function lintSyntax(paths) {
  const program = join(cacheFolder(), "actionlint/actionlint");
  // It would use these programs if they happen to be installed.
  return outputOfFailure(await run(program, ["-no-color", "-shellcheck=", "-pyflakes=", ...paths], { quiet: true }));
}

/** @param {readonly string[]} paths */
export async function lintSecurity(paths) {
  const program = join(cacheFolder(), "zizmor/venv/bin/zizmor");
  const args = [
    "--offline",
    "--no-config",
    "--pedantic",
    "--strict-collection",
    "--color=never",
    "--no-progress",
    "--quiet",
  ];
  return outputOfFailure(await run(program, [...args, ...paths], { quiet: true }));
}

/** @param {{ ok: boolean, output: string }} result */
function outputOfFailure({ ok, output }) {
  return ok ? [] : [output];
}

const TRUST = 'git config --system --add safe.directory "$GITHUB_WORKSPACE"';

/**
 * In a container, git refuses what was checked out, because it belongs to another user. Trusting it must be the next step.
 *
 * @param {Readonly<Record<string, string>>} files by path
 */
export function ownerProblems(files) {
  return Object.entries(files).flatMap(([file, text]) => {
    if (!/^ +container:/m.test(text)) return [];
    const steps = text.split(/^ +- /m);
    const isTrusted = steps.every(
      (step, at) =>
        !step.startsWith("uses: actions/checkout@") || steps[at + 1]?.startsWith(`run: ${TRUST}\n`) === true,
    );
    return isTrusted ? [] : [`${file}: the step after a checkout in a container must be: run: ${TRUST}`];
  });
}

const USES = /^\s*(?:- )?uses:\s*(.*)$/;
const PINNED = /^([\w.-]+\/[\w.-]+)(?:\/[\w./-]+)?@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$/;
const IMAGE = /^\s*(?:container|image):\s*(\S+)$/;

/**
 * Every action must be pinned by a commit, with its version in a comment, and to the same commit in all files. Every image must be
 * pinned by its digest.
 *
 * @param {Readonly<Record<string, string>>} files by path
 */
export function pinProblems(files) {
  /** @type {Map<string, string>} */
  const pins = new Map();
  return Object.entries(files).flatMap(([file, text]) =>
    text.split("\n").flatMap((line, index) => {
      const place = `${file}:${index + 1}`;
      const image = IMAGE.exec(line)?.[1];
      if (image !== undefined) return /@sha256:[0-9a-f]{64}$/.test(image) ? [] : [`${place}: no digest: ${image}`];
      const uses = USES.exec(line)?.[1];
      if (uses === undefined || uses.startsWith("./")) return [];
      const [, action = "", commit = "", version = ""] = PINNED.exec(uses) ?? [];
      if (action === "") return [`${place}: not pinned as OWNER/NAME@COMMIT # vX.Y.Z: ${uses}`];
      const pin = `${commit} # ${version}`;
      const other = pins.get(action) ?? pin;
      pins.set(action, other);
      return other === pin ? [] : [`${place}: another file has ${action}@${other}`];
    }),
  );
}
