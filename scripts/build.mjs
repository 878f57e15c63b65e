// npm run build [-- PROJECT …]: compiles the packages and test/backends, or the given projects and their references. Then it
// bundles the packages.
import { build } from "./lib/build.mjs";

if (!(await build(process.argv.slice(2)))) process.exitCode = 1;
