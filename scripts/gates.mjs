// npm run gates [-- name …]: the gates of .ci/run by themselves, on an installed clone.
import { GATES, runGates } from "./gates/run.mjs";
import { say } from "./lib/say.mjs";

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in GATES));
if (unknown.length > 0) {
  say(`There is no gate ${unknown.join(", ")}. There are: ${Object.keys(GATES).join(", ")}`);
  process.exit(1);
}
const counts = await runGates(names.length === 0 ? Object.keys(GATES) : names);
process.exitCode = counts.failed === 0 ? 0 : 1;
