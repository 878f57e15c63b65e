// Runs test files of the folder in which it was started, one at a time, as its parent asks.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** @typedef {{ ok: boolean, failure: string }} Answer */

const CONFIG = "vitest.mutate.config.mjs";
const root = process.cwd();

// The global setup builds, and other projects run the same files again. The setting for one worker belongs to lanes.
writeFileSync(
  join(root, CONFIG),
  `import base from "./vitest.config.ts";
const { globalSetup, projects, sequence, ...test } = base.test;
const setupFiles = test.setupFiles ?? [];
export default { ...base, test: { ...test, setupFiles, include: ["**/*.test.ts"], exclude: ["**/node_modules/**"] } };
`,
);

/** How the last run ended. A second test that fails at once cuts it off, and then the file has no result. */
let ending = "";

const { createVitest } = await import("vitest/node");
const vitest = await createVitest("test", {
  root,
  config: join(root, CONFIG),
  watch: false,
  cache: false,
  bail: 1,
  maxWorkers: 1,
  fileParallelism: false,
  reporters: [{ onTestRunEnd: (_modules, _errors, reason) => void (ending = reason) }],
  silent: true,
  // The limit of the file ends what hangs. A slow machine must not make a test fail that passes elsewhere.
  testTimeout: 900_000,
  hookTimeout: 900_000,
});
await vitest.standalone();

process.on("message", (file) => {
  void runFile(String(file)).then((answer) => process.send?.(answer));
});
process.on("disconnect", () => process.exit());
process.send?.({ ok: true, failure: "" });

/** @param {string} file @returns {Promise<Answer>} */
async function runFile(file) {
  const path = join(root, file);
  const specification = vitest.getRootProject().createSpecification(path);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
  const module = testModules.find(({ moduleId }) => moduleId === path);
  const failed = [...(module?.children.allTests("failed") ?? [])].map((test) => test.fullName);
  const errors = [...(module?.errors() ?? []), ...unhandledErrors].map(messageOf);
  const failure = [...failed, ...errors][0];
  if (failure !== undefined) return { ok: false, failure };
  if (ending === "interrupted") return { ok: false, failure: "Several tests failed at once" };
  return module?.ok() === true ? { ok: true, failure: "" } : { ok: false, failure: "The file did not run" };
}

/** @param {unknown} error */
function messageOf(error) {
  return String(Object(error).message ?? error).split("\n", 1)[0] ?? "";
}
