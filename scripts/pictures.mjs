// npm run pictures: draws the pictures of the guides into docs/img. The benchmarks draw those of docs/performance.md.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readCommandLine } from "./lib/command-line.mjs";
import { ROOT } from "./lib/repository.mjs";
import { say } from "./lib/say.mjs";
import { PICTURES } from "./pictures/all.mjs";

readCommandLine("pictures", {});
for (const [file, svg] of Object.entries(PICTURES)) writeFileSync(join(ROOT, file), svg);
say(`Drew ${Object.keys(PICTURES).length} pictures`);
