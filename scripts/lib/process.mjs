import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { ROOT } from "./repository.mjs";

const STARTED_BY = process.ppid;

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd] default: the clone
 * @property {NodeJS.ProcessEnv} [env] added to this process's own
 * @property {boolean} [quiet] keep the output instead of showing it
 * @property {boolean} [forwardStop] pass signals on to the program, and end after it
 */

/**
 * Runs a program until it ends. It gets no standard input, so it cannot wait for an answer.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<{ ok: boolean, code: number | null, output: string }>} `output` is empty unless `quiet`
 */
export function run(command, args, { cwd = ROOT, env = {}, quiet = false, forwardStop = false } = {}) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
    });
    if (forwardStop) stopWithUs(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", (error) => done({ ok: false, code: null, output: `${output}${error.message}` }));
    child.on("close", (code) => done({ ok: code === 0, code, output }));
  });
}

/**
 * A terminal sends Ctrl-C to the program itself, and this passes on SIGTERM. npm's shell ends on a signal without passing it on.
 * In that case this process gets a new parent.
 *
 * @param {import("node:child_process").ChildProcess} child
 */
function stopWithUs(child) {
  const stop = () => child.kill("SIGTERM");
  const watch = setInterval(() => process.ppid !== STARTED_BY && stop(), 500);
  process.on("SIGINT", () => {});
  process.on("SIGTERM", stop);
  child.once("exit", () => clearInterval(watch));
}

/**
 * The full path of a program, or undefined.
 * @param {string} name
 */
export function findProgram(name) {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
