// npm run bench -- [NAME …] [--quick] [--publish]: compiles the packages and test/bench, and runs NAME.bench.ts, or all
// benchmarks. `--publish` keeps the results in test/bench/results and writes them into docs/performance.md and docs/performance-figures.md. Other arguments
// go to each benchmark. As with tests, a file name may list backends: sign.softhsm.bench.ts.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { provideBackends } from "./backends.mjs";
import { build } from "./lib/build.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { ROOT } from "./lib/repository.mjs";
import { say, warn } from "./lib/say.mjs";

const args = process.argv.slice(2);
const RESULTS = "test/bench/results";
const publish = args.includes("--publish");
const options = args.filter((arg) => arg.startsWith("--") && arg !== "--publish");
if (publish) options.push(`--out=${RESULTS}`);
const names = args.filter((arg) => !arg.startsWith("--"));
const all = readdirSync(join(ROOT, "test/bench"))
  .filter((file) => file.endsWith(".bench.ts"))
  .map((file) => file.slice(0, -".bench.ts".length));
const chosen = all.filter((file) => names.length === 0 || names.includes(nameOf(file)));
const unknown = names.filter((name) => !all.map(nameOf).includes(name));
if (unknown.length > 0) {
  say(`Unknown benchmark: ${unknown.join(", ")}. Known benchmarks: ${all.map(nameOf).join(", ")}`);
  process.exit(1);
}

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
