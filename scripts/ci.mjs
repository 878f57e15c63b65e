// .ci/run: runs both tiers of tests, then every gate. The last line is the result.
import { runGates } from "./gates/run.mjs";
import { installDependencies } from "./lib/install.mjs";
import { say, secondsSince } from "./lib/say.mjs";
import { runTests, sayTests } from "./lib/tests.mjs";

const started = performance.now();
const counts = { passed: 0, failed: 0 };
if (await installDependencies("full")) {
  const tests = await runTests("fast");
  const soaks = await runTests("soak");
  for (const outcome of [tests, soaks]) sayTests(outcome);
  const gates = await runGates();
  counts.passed = tests.passed + soaks.passed + gates.passed;
  counts.failed = tests.failed + soaks.failed + gates.failed;
} else {
  counts.failed = 1;
}
say(`Done in ${secondsSince(started)}`);
say(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
