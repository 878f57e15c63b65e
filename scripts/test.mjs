// npm test: installs everything, provides the backends, and runs every fast test. With `--soak` it runs only the soak tests:
// long load and memory runs. Other arguments go to vitest.
import { installDependencies } from "./lib/install.mjs";
import { warn } from "./lib/say.mjs";
import { describeSoaks, readTier, runTests, sayTests } from "./lib/tests.mjs";

if (!(await installDependencies("full"))) process.exit(1);
const { tier, rest } = readTier(process.argv.slice(2));
const outcome = await runTests(tier, rest);
const soaks = tier === "fast" ? describeSoaks(rest) : undefined;
if (soaks !== undefined) warn(soaks);
sayTests(outcome);
process.exitCode = outcome.failed === 0 ? 0 : 1;
