// npm run bench -- [NAME …] [--quick] [--publish]: compiles the packages and test/bench, and runs NAME.bench.ts, or all
// benchmarks. `--publish` keeps the results in test/bench/results and writes them into docs/performance.md and docs/performance-figures.md. The
// other options go to each benchmark. As with tests, a file name may list backends: sign.softhsm.bench.ts.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { provideBackends } from "./backends.mjs";
import { build } from "./lib/build.mjs";
import { readCommandLine, refuse } from "./lib/command-line.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { ROOT } from "./lib/repository.mjs";
import { warn } from "./lib/say.mjs";

const USAGE = "bench [-- NAME … --quick --row=TEXT --out=FOLDER --publish]";
const RESULTS = "test/bench/results";
const { values, positionals: names } = readCommandLine(USAGE, {
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    row: { type: "string" },
    out: { type: "string" },
    publish: { type: "boolean", default: false },
  },
});
const { quick, row, publish, out = publish ? RESULTS : undefined } = values;
const options = [
  ...(quick ? ["--quick"] : []),
  ...(row === undefined ? [] : [`--row=${row}`]),
  ...(out === undefined ? [] : [`--out=${out}`]),
];
const all = readdirSync(join(ROOT, "test/bench"))
  .filter((file) => file.endsWith(".bench.ts"))
  .map((file) => file.slice(0, -".bench.ts".length));
const chosen = all.filter((file) => names.length === 0 || names.includes(nameOf(file)));
const unknown = names.filter((name) => !all.map(nameOf).includes(name));
if (unknown.length > 0)
  refuse(USAGE, `Unknown benchmark: ${unknown.join(", ")}. Known benchmarks: ${all.map(nameOf).join(", ")}`);

if (!(await installDependencies("full"))) process.exit(1);
if (!(await build(["test/bench"]))) process.exit(1);

const provided = await provideBackends([...new Set(chosen.flatMap(backendsOf))]);
for (const file of chosen) {
  const missing = backendsOf(file).map((name) => provided.get(name));
  const unavailable = missing.find((result) => result?.ok === false);
  if (unavailable?.ok === false) {
    warn(`Not run: ${nameOf(file)}: ${unavailable.reason}`);
    continue;
  }
  const env = Object.assign({}, ...missing.map((result) => (result?.ok ? result.env : {})));
  const { ok } = await run(process.execPath, [join("test/bench/dist", `${file}.bench.js`), ...options], { env });
  if (!ok) process.exitCode = 1;
}

if (publish) {
  const page = join("test/bench/dist", "performance-page.js");
  if (!(await run(process.execPath, [page, RESULTS, "docs/performance.md", "docs/performance-figures.md"])).ok)
    process.exitCode = 1;
}

/** @param {string} file */
function nameOf(file) {
  return file.split(".")[0] ?? file;
}

/** @param {string} file */
function backendsOf(file) {
  return file.split(".").slice(1);
}
