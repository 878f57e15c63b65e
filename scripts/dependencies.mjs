// npm run dependencies: writes the table in docs/dependencies.md again.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readCommandLine } from "./lib/command-line.mjs";
import { ROOT } from "./lib/repository.mjs";
import { say } from "./lib/say.mjs";
import { externalDependencies } from "./supply/dependencies.mjs";
import { fillPage, PAGE } from "./supply/page.mjs";

readCommandLine("dependencies", {});
const path = join(ROOT, PAGE);
writeFileSync(path, fillPage(readFileSync(path, "utf8"), externalDependencies()));
say(`Wrote the table in ${PAGE}`);
