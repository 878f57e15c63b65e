// Runs in a copy of the clone: builds the published packages, and packs them into the folder that is given.
import { build } from "../../lib/build.mjs";
import { publicPackages } from "../../lib/workspace.mjs";
import { packPackages } from "../../release/pack.mjs";
import { SAMPLE_HOME } from "../consumer.mjs";

const [, , destination = ""] = process.argv;
if (!(await build(publicPackages().map(({ folder }) => folder)))) process.exit(1);
await packPackages(destination, SAMPLE_HOME);
