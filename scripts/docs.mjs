// npm run docs: serves the documentation as a website. With `--build [--base /PATH/]` it builds and checks the site instead.
import { readCommandLine, refuse } from "./lib/command-line.mjs";
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { say } from "./lib/say.mjs";

const USAGE = "docs [-- --build [--base /PATH/]]";
const { values } = readCommandLine(USAGE, {
  options: { build: { type: "boolean", default: false }, base: { type: "string", default: "/" } },
});
const { base } = values;
if (!/^\/(?:.*\/)?$/.test(base)) refuse(USAGE, `--base must begin and end with a slash: ${base}`);
if (!(await installDependencies("full"))) process.exit(1);

if (values.build) {
  const { ok } = await run(process.execPath, ["site/src/build.mjs", ".tmp/site", base]);
  if (ok) say("The site is in .tmp/site/dist. Any web server can serve it");
  process.exitCode = ok ? 0 : 1;
} else {
  const { code } = await run(process.execPath, ["site/src/serve.mjs", ".tmp/site-served"], { forwardStop: true });
  process.exitCode = code ?? 1;
}
