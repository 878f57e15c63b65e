// npm run docs: serves the documentation as a website. With `--build [--base /PATH/]` it builds and checks the site instead.
import { installDependencies } from "./lib/install.mjs";
import { run } from "./lib/process.mjs";
import { say } from "./lib/say.mjs";

const args = process.argv.slice(2);
const at = args.indexOf("--base");
const base = at === -1 ? "/" : (args[at + 1] ?? "/");
const known = args.filter((arg, index) => arg !== "--build" && (at === -1 || (index !== at && index !== at + 1)));
if (known.length > 0 || !/^\/(?:.*\/)?$/.test(base)) {
  say("Usage: npm run docs [-- --build [--base /PATH/]]");
  process.exit(1);
}
if (!(await installDependencies("full"))) process.exit(1);

if (args.includes("--build")) {
  const { ok } = await run(process.execPath, ["site/src/build.mjs", ".tmp/site", base]);
  if (ok) say("The site is in .tmp/site/dist. Any web server can serve it");
  process.exitCode = ok ? 0 : 1;
} else {
  const { code } = await run(process.execPath, ["site/src/serve.mjs", ".tmp/site-served"], { forwardStop: true });
  process.exitCode = code ?? 1;
}
