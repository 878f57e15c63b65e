// npm run faults [-- BACKEND …] [--seed N] [--tokens N] [--only KIND,…] [--publish]: signs tokens over each backend, or over those
// that are named, while a seeded schedule of faults hits it. Every token and every failure is judged. `--publish` keeps the
// results in test/faults/results and writes them into docs/reliability.md.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { provideBackends } from "./backends.mjs";
import { readFaultArguments } from "./campaigns/fault-arguments.mjs";
import { build } from "./lib/build.mjs";
import { offerHelp, refuse } from "./lib/command-line.mjs";
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
  kubernetes: [],
};
const RESULTS = "test/faults/results";
const USAGE = "faults [-- BACKEND … --seed N --tokens N --only KIND,… --publish]";

/** The campaign's exit code for arguments that no backend can take. It has said why. */
const WRONG_ARGUMENTS = 2;
/** The campaign's exit code if the backend can have none of the kinds. */
const NOTHING_TO_RUN = 3;

offerHelp(USAGE);
const given = readFaultArguments(process.argv.slice(2), Object.keys(NEEDS));
if ("problem" in given) refuse(USAGE, given.problem);
const { names, options, publish } = given;
if (!(await installDependencies("full"))) process.exit(1);
if (!(await build(["test/faults"]))) process.exit(1);

const chosen = names.length === 0 ? Object.keys(NEEDS) : names;
const provided = await provideBackends([...new Set(chosen.flatMap((name) => NEEDS[name] ?? []))]);
if (publish) mkdirSync(RESULTS, { recursive: true });
const failed = [];
let ran = 0;
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
  const { ok, code } = await run(process.execPath, ["test/faults/dist/main.js", name, ...options, ...kept], {
    env,
    stops: "program",
  });
  if (code === WRONG_ARGUMENTS) process.exit(code);
  if (ok) ran += 1;
  else if (code !== NOTHING_TO_RUN || names.length > 0) failed.push(name);
}
if (publish) {
  const page = ["test/faults/dist/page.js", RESULTS, "docs/reliability.md"];
  if (!(await run(process.execPath, page)).ok) failed.push("docs/reliability.md");
}
if (failed.length > 0) say(`\nFailed: ${failed.join(", ")}`);
else say(ran > 0 ? "\nNo findings" : "\nNothing was run");
process.exitCode = failed.length === 0 && ran > 0 ? 0 : 1;
