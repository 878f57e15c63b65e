// npm run fuzz [-- TARGET … --seed N --cases N --minutes M --input HEX]: tries random inputs on the parsers, and keeps those that
// reach code or outcomes that no kept input does. `--input` tries one input: hexadecimal digits, or a file.
import { join } from "node:path";
import { readFuzzArguments } from "./campaigns/fuzz-arguments.mjs";
import { offerHelp, refuse } from "./lib/command-line.mjs";
import { fuzzTargets } from "./lib/fuzz-targets.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { ROOT } from "./lib/repository.mjs";
import { say } from "./lib/say.mjs";

const USAGE = "fuzz [-- TARGET … --seed N --cases N --minutes M --input HEX]";

offerHelp(USAGE);
const settings = readFuzzArguments(process.argv.slice(2), fuzzTargets().toSorted());
if ("problem" in settings) refuse(USAGE, settings.problem);
const { targets, seed } = settings;
if (!(await installDependencies("full"))) process.exit(1);
say(`Fuzzing ${targets.length === 0 ? "all targets" : targets.join(", ")} with the seed ${seed}`);
const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
const { ok } = await run(process.execPath, [vitest, "run", "--project", "signpost", "test/fuzz/fuzz.test.ts"], {
  env: { SIGNPOST_FUZZ: JSON.stringify(settings) },
  stops: "all",
});
process.exitCode = ok ? 0 : 1;
