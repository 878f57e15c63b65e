import { randomUUID } from "node:crypto";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startBackend, startControl } from "./backends.mjs";
import { certificateProblems } from "./certificates.mjs";
import { REQUESTS, requestProblems } from "./requests.mjs";
import { tokenProblems } from "./tokens.mjs";

/** @typedef {import("./projects.mjs").Project} Project */
/** @typedef {import("./rows.mjs").Row} Row */

const TOKENS = 1000;
/** A program that has not ended after this time hangs. Milliseconds. */
const PROGRAM_MS = 240_000;
/** How soon a program must end after its last line: nothing may keep it alive. Milliseconds. */
const END_MS = 4_000;

/**
 * Runs a program on a runtime, with its own backend.
 *
 * @param {Row} row
 * @param {Project} project
 * @param {{ checksSigners: boolean }} options whether every check of a signer runs too
 * @returns {Promise<string[]>} what is wrong
 */
export async function runRow(row, project, { checksSigners }) {
  const backend = await startBackend(row.backend);
  const control = await startControl(backend.checks?.faults ?? {});
  const base = join(project.folder, `run-${randomUUID()}`);
  const tokensFile = `${base}.txt`;
  const tokens = row.tokens ?? TOKENS;
  const checks = {
    backend: { ...backend.settings, ...backend.checks?.settings },
    control: control.url,
    secrets: backend.checks?.secrets ?? [],
    faults: Object.keys(backend.checks?.faults ?? {}),
  };
  const settings = {
    package: row.package,
    command: project.command,
    backend: backend.settings,
    tokens,
    tokensFile,
    requests: REQUESTS,
    ...(checksSigners && { checks }),
  };
  try {
    writeFileSync(`${base}.json`, JSON.stringify(settings));
    const problems = await runProgram(row, project, `${base}.json`, backend);
    const signed = existsSync(tokensFile) ? readFileSync(tokensFile, "utf8").split("\n") : [];
    return [...problems, ...tokenProblems(signed, tokens, backend.publicKeys)];
  } finally {
    control.stop();
    await backend.stop();
  }
}

/**
 * @param {Row} row
 * @param {Project} project
 * @param {string} settingsFile
 * @param {import("./backends.mjs").Started} backend
 * @returns {Promise<string[]>}
 */
async function runProgram(row, { runtime, command, folder }, settingsFile, backend) {
  const [program, ...args] = [...command, join("programs", row.program), settingsFile];
  // The warnings of an old runtime are not ours.
  const env = { ...process.env, ...backend.env, NODE_NO_WARNINGS: "1" };
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const hanging = setTimeout(() => child.kill("SIGKILL"), PROGRAM_MS);
  /** @type {string[]} */
  const problems = [];
  let last = "";
  let errors = "";
  let isDone = false;
  let isCertified = false;
  let isLate = false;
  /** @type {NodeJS.Timeout | undefined} */
  let ending;
  /** @type {Promise<void>[]} */
  const asked = [];
  child.stderr.setEncoding("utf8").on("data", (text) => (errors = `${errors}${text}`.slice(-4000)));
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = parse(line);
    if (message.ok === false) problems.push(`${message.name}: ${message.text}`);
    if (message.name !== undefined) last = message.name;
    if (message.ports !== undefined) {
      asked.push(requestProblems(message, backend.publicKeys).then((found) => void problems.push(...found)));
    }
    if (message.certificate !== undefined) {
      isCertified = true;
      problems.push(...certificateProblems(message, backend.publicKeys));
    }
    if (message.done !== true) return;
    isDone = true;
    ending = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, END_MS);
  });
  const code = await new Promise((ended) => {
    child.once("error", ended).once("close", ended);
  });
  clearTimeout(hanging);
  clearTimeout(ending);
  await Promise.all(asked);
  if (row.certifies === true && !isCertified) problems.push("handed over no certificates");
  if (!isDone) problems.push(`ended with ${code}, after "${last}":\n${errors}`);
  else if (isLate && row.lingers?.includes(runtime) !== true) problems.push(`still runs ${END_MS} ms after its end`);
  else if (!isLate && code !== 0) problems.push(`ended with ${code}:\n${errors}`);
  return problems;
}

/** A library may print something else. @param {string} line @returns {any} */
function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
