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
 * @property {"program" | "all"} [stops] where SIGINT and SIGTERM go: to the program, which stops what it has started, or to all of its
 *   processes. A second signal kills all. Once the program has ended, this process exits with 130 or 143. Ctrl-C of a terminal
 *   reaches this process alone, because the program gets a process group for itself
 */

/**
 * Runs a program until it ends. It gets no standard input, so it cannot wait for an answer.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RunOptions} [options]
 * @returns {Promise<{ ok: boolean, code: number | null, output: string }>} `output` is empty unless `quiet`
 */
export function run(command, args, { cwd = ROOT, env = {}, quiet = false, forwardStop = false, stops } = {}) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
      detached: stops !== undefined,
    });
    if (forwardStop) stopWithUs(child);
    if (stops !== undefined) stopAndExit(child, stops);
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

/** The exit code after a signal, as shells have it. @type {Readonly<Record<string, number>>} */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 };

/** @param {import("node:child_process").ChildProcess} child @param {"program" | "all"} stops */
function stopAndExit(child, stops) {
  const { pid } = child;
  if (pid === undefined) return;
  /** @type {NodeJS.Signals | undefined} */
  let stoppedBy;
  /** @param {NodeJS.Signals} signal */
  const stop = (signal) => {
    const isSecond = stoppedBy !== undefined;
    stoppedBy ??= signal;
    if (isSecond) signalIfThere(-pid, "SIGKILL");
    else signalIfThere(stops === "all" ? -pid : pid, signal);
  };
  const watch = setInterval(() => process.ppid !== STARTED_BY && stoppedBy === undefined && stop("SIGTERM"), 500);
  for (const signal of Object.keys(EXIT_CODES)) process.on(signal, stop);
  child.once("exit", () => {
    clearInterval(watch);
    for (const signal of Object.keys(EXIT_CODES)) process.off(signal, stop);
    if (stoppedBy === undefined) return;
    // What the program has not ended.
    signalIfThere(-pid, "SIGKILL");
    process.exit(EXIT_CODES[stoppedBy]);
  });
}

/** @param {number} pid of a process, or the negative one of a group @param {NodeJS.Signals} signal */
function signalIfThere(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
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
