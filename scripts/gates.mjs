// npm run gates [-- NAME …]: runs the gates of .ci/run without its tests, in an installed clone.
import { GATES, runGates } from "./gates/run.mjs";
import { say } from "./lib/say.mjs";

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in GATES));
if (unknown.length > 0) {
  say(`Unknown gate: ${unknown.join(", ")}. Known gates: ${Object.keys(GATES).join(", ")}`);
  process.exit(1);
}
const counts = await runGates(names.length === 0 ? Object.keys(GATES) : names);
process.exitCode = counts.failed === 0 ? 0 : 1;
