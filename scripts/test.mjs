// npm test: installs everything, provides the backends, runs the whole suite. Arguments go to vitest.
import { installDependencies } from "./lib/install.mjs";
import { runTests, sayTests } from "./lib/tests.mjs";

if (!(await installDependencies("full"))) process.exit(1);
const outcome = await runTests(process.argv.slice(2));
sayTests(outcome);
process.exitCode = outcome.failed === 0 ? 0 : 1;
