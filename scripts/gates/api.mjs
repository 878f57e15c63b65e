import { extractDeclarations } from "../api/extract.mjs";
import { findGaps } from "../api/gaps.mjs";
import { diffReports } from "../api/reports.mjs";
import { tool } from "../lib/tools.mjs";
import { publicEntryPoints } from "../lib/workspace.mjs";

/** Checks that the public API matches the committed reports, and has comments and examples. */
export async function checkApi() {
  const build = await tool("tsc", ["-b"]);
  if (!build.ok) return build;
  const declarations = await extractDeclarations(publicEntryPoints());
  const gaps = findGaps(declarations);
  const diffs = await diffReports(declarations.map(({ reportFile }) => reportFile));
  const output = [
    ...gaps,
    ...diffs,
    ...(diffs.length > 0 ? ["The public API has changed. If that is intended, run `npm run api` and commit etc/"] : []),
  ];
  return { ok: output.length === 0, output: output.join("\n") };
}
