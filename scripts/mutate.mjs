// npm run mutate -- PACKAGE [--sample N] [--seed N] [--file PATH] [--operators NAME,NAME] [--tests PATH,PATH]
// [--longest SECONDS] [--minutes N] [--again FILE] [--json FILE] [--least PERCENT]: plants faults in a package, one at a time, and counts those that its tests notice.
import { offerHelp, refuse } from "./lib/command-line.mjs";
import { installDependencies } from "./lib/install.mjs";
import { say } from "./lib/say.mjs";
import { readArguments } from "./mutate/arguments.mjs";
import { mutatePackage } from "./mutate/package.mjs";
import { describe, scoreOf } from "./mutate/report.mjs";

const USAGE =
  "mutate -- PACKAGE [--sample N --seed N --file PATH --operators NAME,… --tests PATH,… --longest SECONDS --minutes N --again FILE --json FILE --least PERCENT]";

offerHelp(USAGE);
const read = readArguments(process.argv.slice(2));
if ("problem" in read) refuse(USAGE, read.problem);
if (!(await installDependencies("full"))) process.exit(1);
const run = await mutatePackage(read);
for (const line of describe(run)) say(line);
if (scoreOf(run.verdicts) < read.least) {
  say(`Less than the ${read.least} % that --least asks for`);
  process.exitCode = 1;
}
