// The campaign on one backend: node test/faults/dist/main.js BACKEND [--seed N] [--tokens N] [--only KIND,…] [--json FILE].
// Exits with 1 if something was found, with 2 for arguments that cannot work, and with 3 if the backend can have none of the kinds.
// `npm run faults` starts it, one process for each backend.
import { loadavg } from "node:os";
import { writeWhole } from "@signpost/test-pages/write-whole";
import { BACKENDS } from "./backends/index.ts";
import { type CampaignResult, type EpisodeResult, kindsOf, runCampaign } from "./campaign.ts";
import { type Options, readOptions } from "./options.ts";
import { makePlan, narrowed } from "./plan.ts";
import { stopOnSignals } from "./interrupt.ts";
import { createRandom } from "./random.ts";
import { allFindings, describeEnd, describeEpisode, type KeptResult } from "./report.ts";

/** The exit code if the backend can have none of the faults. A run without a fault proves nothing. */
const NOTHING_TO_RUN = 3;

const options = chosenOptions();
const { seed, tokens, only, json } = options;
// Pauses between attempts are random, and follow from the seed too.
Math.random = createRandom(seed).next;

const start = BACKENDS[options.backend];
if (start === undefined) throw new Error(`no backend ${options.backend}`);
const began = process.hrtime.bigint();
const starting = start();
const interruption = stopOnSignals(() => starting);
const backend = await starting;
const whole = makePlan(seed, tokens, kindsOf(backend));
const plan = only === undefined ? whole : narrowed(whole, only);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const impossible = (only ?? []).filter((kind) => !kindsOf(backend).includes(kind));
if (impossible.length > 0) say(`${options.backend}: cannot have ${impossible.join(", ")}`);
if (plan.episodes.length === 0) {
  await backend.stop();
  process.exit(NOTHING_TO_RUN);
}
// Before the campaign, so that these streams do not count as left behind.
process.stderr.write("");
say(`${options.backend}: ${plan.episodes.length} faults, ${tokens} tokens, seed ${seed}`);
let result: CampaignResult;
try {
  const report = (episode: EpisodeResult): void => say(describeEpisode(episode));
  result = await runCampaign({ name: options.backend, backend, plan, report });
} finally {
  await interruption.goOn();
  await backend.stop();
}
for (const line of describeEnd(result, plan)) say(line);
if (json !== undefined) {
  const kept: KeptResult = {
    ...result,
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    load: loadavg()[0],
    seconds: Math.round(Number(process.hrtime.bigint() - began) / 1e9),
  };
  await writeWhole(json, `${JSON.stringify(kept, null, 2)}\n`);
}
// What is left behind may keep the process alive.
process.exit(allFindings(result).length === 0 ? 0 : 1);

function chosenOptions(): Options {
  try {
    return readOptions(process.argv.slice(2), Object.keys(BACKENDS));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}
