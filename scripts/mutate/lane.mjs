import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {import("./lane-program.mjs").Answer} Answer */
/** @typedef {Answer & { ms: number, isLate: boolean }} Outcome `isLate`: it took longer than it may, and was ended */

const PROGRAM = fileURLToPath(new URL("lane-program.mjs", import.meta.url));
const START_MS = 120_000;

/** A copy of the clone, and a test runner in it that stays alive between mutants. */
export class Lane {
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #runner;
  #folder;
  #env;

  /** @param {string} folder @param {NodeJS.ProcessEnv} env of the tests */
  constructor(folder, env) {
    this.#folder = folder;
    this.#env = env;
  }

  get folder() {
    return this.#folder;
  }

  /** What the sources read to know which mutant is active. */
  get statePath() {
    return join(this.#folder, ".tmp/mutate.json");
  }

  /**
   * Runs a test file until its first failure.
   *
   * @param {string} file
   * @param {{ active: number | null, limitMs: number, record?: boolean }} options
   * @returns {Promise<Outcome>}
   */
  async runFile(file, { active, limitMs, record = false }) {
    mkdirSync(dirname(this.statePath), { recursive: true });
    writeFileSync(this.statePath, JSON.stringify({ active, record: record ? file : null }));
    const runner = await this.#start();
    const started = performance.now();
    runner.send(file);
    const answer = await this.#answer(runner, limitMs);
    const ms = performance.now() - started;
    if (answer !== undefined) return { ...answer, ms, isLate: false };
    const isLate = ms >= limitMs;
    await this.close();
    return { ok: false, failure: isLate ? "The test file did not end" : "The test runner ended", ms, isLate };
  }

  /** Which mutants each test file has reached. @returns {readonly { file: string, id: number }[]} */
  readHits() {
    const path = `${this.statePath}.hits`;
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").trim().split("\n");
    return lines.map((line) => line.split("\t")).map(([file = "", id]) => ({ file, id: Number(id) }));
  }

  /** Ends the runner, and everything that it has started. */
  async close() {
    const runner = this.kill();
    if (runner !== undefined) await once(runner, "exit");
  }

  /** Same, but does not wait for its end. Returns the runner, unless it has ended already. */
  kill() {
    const runner = this.#runner;
    this.#runner = undefined;
    if (runner?.pid === undefined || runner.exitCode !== null || runner.signalCode !== null) return undefined;
    process.kill(-runner.pid, "SIGKILL");
    return runner;
  }

  async #start() {
    if (this.#runner?.connected === true) return this.#runner;
    const log = join(this.#folder, ".tmp/mutate.log");
    const runner = fork(PROGRAM, {
      cwd: this.#folder,
      env: { ...process.env, ...this.#env },
      // A group, so that a runner that hangs ends with its workers.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [runner.stdout, runner.stderr]) stream?.on("data", (text) => appendFileSync(log, text));
    this.#runner = runner;
    if ((await this.#answer(runner, START_MS)) === undefined) {
      await this.close();
      throw new Error(`The test runner did not start:\n${existsSync(log) ? readFileSync(log, "utf8") : ""}`);
    }
    return runner;
  }

  /**
   * @param {import("node:child_process").ChildProcess} runner
   * @param {number} limitMs
   * @returns {Promise<Answer | undefined>} undefined if the runner is late, or has ended
   */
  #answer(runner, limitMs) {
    return new Promise((done) => {
      const finish = (/** @type {Answer | undefined} */ answer) => {
        clearTimeout(late);
        runner.off("message", take).off("exit", end);
        done(answer);
      };
      const take = (/** @type {unknown} */ message) => finish(/** @type {Answer} */ (message));
      const end = () => finish(undefined);
      const late = setTimeout(end, limitMs);
      runner.on("message", take).on("exit", end);
    });
  }
}
