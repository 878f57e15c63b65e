// npm run dependencies: writes the table in docs/dependencies.md again.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/repository.mjs";
import { externalDependencies } from "./supply/dependencies.mjs";
import { fillPage, PAGE } from "./supply/page.mjs";

const path = join(ROOT, PAGE);
writeFileSync(path, fillPage(readFileSync(path, "utf8"), externalDependencies()));
