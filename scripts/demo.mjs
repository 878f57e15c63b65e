// npm run demo: installs the demo's dependencies and, if possible, SoftHSM. Then it compiles and runs examples/demo.
import { installBackendPackages, provideBackends } from "./backends.mjs";
import { build } from "./lib/build.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { warn } from "./lib/say.mjs";

const [installed] = await Promise.all([installDependencies("demo"), installBackendPackages(["softhsm"])]);
if (!installed) process.exit(1);
const token = (await provideBackends(["softhsm"])).get("softhsm");
/** @type {NodeJS.ProcessEnv} */
const env = token?.ok === false ? { SIGNPOST_DEMO_WITHOUT_TOKEN: token.reason } : {};
if (token?.ok === false) warn(`SoftHSM is not available, so the demo uses a local key: ${token.reason}`);

if (!(await build(["examples/demo"]))) process.exit(1);

const demo = ["examples/demo/dist/main.js", ...process.argv.slice(2)];
const { code } = await run(process.execPath, demo, { env, forwardStop: true });
process.exitCode = code ?? 1;
