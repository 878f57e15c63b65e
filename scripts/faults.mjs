// npm run faults [-- BACKEND …] [--seed N] [--tokens N] [--only KIND,…] [--publish]: signs tokens over each backend, or over those
// that are named, while a seeded schedule of faults hits it. Every token and every failure is judged. `--publish` keeps the
// results in test/faults/results and writes them into docs/reliability.md.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { provideBackends } from "./backends.mjs";
import { build } from "./lib/build.mjs";
import { readCommandLine, refuse } from "./lib/command-line.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { say, warn } from "./lib/say.mjs";

/** What each backend needs. @type {Readonly<Record<string, readonly string[]>>} */
const NEEDS = {
  local: [],
  "aws-kms": [],
  "aws-kms-https": [],
  "gcp-kms": [],
  "gcp-kms-rest": [],
  "azure-key-vault": [],
  "vault-transit": [],
  openbao: ["openbao"],
  pkcs11: ["softhsm", "cc"],
  "pkcs11-process": ["softhsm", "cc"],
};
const RESULTS = "test/faults/results";

const USAGE = "faults [-- BACKEND … --seed N --tokens N --only KIND,… --publish]";
const { values, positionals: names } = readCommandLine(USAGE, {
  allowPositionals: true,
  options: {
    seed: { type: "string" },
    tokens: { type: "string" },
    only: { type: "string" },
    publish: { type: "boolean", default: false },
  },
});
const { publish, ...given } = values;
const options = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
const unknown = names.filter((name) => !(name in NEEDS));
if (unknown.length > 0)
  refuse(USAGE, `Unknown backend: ${unknown.join(", ")}. Known backends: ${Object.keys(NEEDS).join(", ")}`);
if (!(await installDependencies("full"))) process.exit(1);
if (!(await build(["test/faults"]))) process.exit(1);

const chosen = names.length === 0 ? Object.keys(NEEDS) : names;
const provided = await provideBackends([...new Set(chosen.flatMap((name) => NEEDS[name] ?? []))]);
if (publish) mkdirSync(RESULTS, { recursive: true });
const failed = [];
for (const name of chosen) {
  const results = (NEEDS[name] ?? []).map((need) => provided.get(need));
  const missing = results.find((result) => result?.ok === false);
  if (missing?.ok === false) {
    warn(`Not run: ${name}: ${missing.reason}`);
    if (process.env["CI"] === "true") failed.push(name);
    continue;
  }
  say(`\n${name}`);
  const env = Object.assign({}, ...results.map((result) => (result?.ok ? result.env : {})));
  const kept = publish ? ["--json", join(RESULTS, `${name}.json`)] : [];
  const { ok } = await run(process.execPath, ["test/faults/dist/main.js", name, ...options, ...kept], { env });
  if (!ok) failed.push(name);
}
if (publish) {
  const page = ["test/faults/dist/page.js", RESULTS, "docs/reliability.md"];
  if (!(await run(process.execPath, page)).ok) failed.push("docs/reliability.md");
}
say(failed.length === 0 ? "\nNo findings" : `\nFailed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
