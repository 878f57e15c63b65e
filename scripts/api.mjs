// npm run api: writes a report of the public API for each entry point, and lists declarations that lack something.
import { extractDeclarations } from "./api/extract.mjs";
import { findGaps } from "./api/gaps.mjs";
import { acceptReports } from "./api/reports.mjs";
import { readCommandLine } from "./lib/command-line.mjs";
import { say, sayOutput } from "./lib/say.mjs";
import { tool } from "./lib/tools.mjs";
import { publicEntryPoints } from "./lib/workspace.mjs";

readCommandLine("api", {});
const { ok, output } = await tool("tsc", ["-b"]);
if (!ok) {
  sayOutput(output);
  process.exit(1);
}
const declarations = await extractDeclarations(publicEntryPoints());
acceptReports(declarations.map(({ reportFile }) => reportFile));
say(`Wrote to etc/: ${declarations.map(({ entry }) => entry.name).join(", ")}`);
const gaps = findGaps(declarations);
for (const gap of gaps) say(gap);
if (gaps.length > 0) say(`${gaps.length} problems. The gate \`api\` fails until they are fixed`);
