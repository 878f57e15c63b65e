// How RP libraries behave with our endpoint, in ordinary situations and with hostile sets, and how many requests each made.
// Measures behavior, not time, so nothing is paired. `--out=FOLDER` also writes peers.md.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CLIENTS } from "./peers/clients.ts";
import type { Client } from "./peers/clients.ts";
import { startOp } from "./peers/op.ts";
import { SCENARIOS } from "./peers/scenarios.ts";
import type { Outcome, Scenario } from "./peers/scenarios.ts";
import { thisMachine } from "./report.ts";
import { versionOf } from "./versions.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean" }, out: { type: "string" } } });

const rows: string[][] = [];
for (const scenario of SCENARIOS) {
  process.stderr.write(`peers: ${scenario.name}\n`);
  const cells: string[] = [];
  for (const client of CLIENTS) cells.push(cell(await run(scenario, client)));
  rows.push([scenario.name, ...cells]);
}
const table = await report(rows);
process.stdout.write(`${table}\n`);
if (values.out !== undefined) {
  await mkdir(values.out, { recursive: true });
  await writeFile(join(values.out, "peers.md"), table);
}

async function run(scenario: Scenario, client: Client): Promise<Outcome> {
  const op = await startOp();
  try {
    return await scenario.run(op, client.open(op));
  } finally {
    await op.stop();
  }
}

/** What happened to the tokens, then the requests. */
function cell({ verified, refused, pending, requests }: Outcome): string {
  const parts = [
    [verified, "verified"],
    [refused, "refused"],
    [pending, "pending"],
  ] as const;
  const happened = parts.filter(([amount]) => amount > 0);
  const words = happened.map(([amount, word]) => (happened.length === 1 && amount === 1 ? word : `${amount} ${word}`));
  return `${words.join(", ")}; ${requests}`;
}

async function report(cells: readonly (readonly string[])[]): Promise<string> {
  const versions = await Promise.all(
    CLIENTS.map(async ({ packageName }) => `${packageName} ${await versionOf(packageName)}`),
  );
  const line = (values_: readonly string[]): string => `| ${values_.join(" | ")} |`;
  return [
    "## RP libraries against the same endpoint",
    "",
    line(["situation", ...CLIENTS.map(({ name }) => name)]),
    line(Array.from({ length: CLIENTS.length + 1 }, () => "---")),
    ...cells.map(line),
    "",
    "Each cell: what happened to the tokens; the number of requests for the set.",
    `Defaults everywhere, a fresh cache for each cell. ${versions.join(", ")}; Node ${thisMachine().node}; ${new Date().toISOString().slice(0, 10)}.`,
    "",
  ].join("\n");
}
