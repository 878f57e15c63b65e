// npm run demo: installs what the demo runs, provides SoftHSM where it can, compiles and runs examples/demo.
import { join } from "node:path";
import { installBackendPackages, provideBackends } from "./backends.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { warn } from "./lib/say.mjs";

const [installed] = await Promise.all([installDependencies("demo"), installBackendPackages(["softhsm"])]);
if (!installed) process.exit(1);
const token = (await provideBackends(["softhsm"])).get("softhsm");
/** @type {NodeJS.ProcessEnv} */
const env = token?.ok === false ? { SIGNPOST_DEMO_WITHOUT_TOKEN: token.reason } : {};
if (token?.ok === false)
  warn(`There is no SoftHSM token on this machine, so the demo uses a local key: ${token.reason}`);

const tsc = join("node_modules", "typescript/bin/tsc");
const { ok } = await run(process.execPath, [tsc, "-b", "examples/demo"]);
if (!ok) process.exit(1);

const demo = ["examples/demo/dist/main.js", ...process.argv.slice(2)];
const { code } = await run(process.execPath, demo, { env, forwardStop: true });
process.exitCode = code ?? 1;
