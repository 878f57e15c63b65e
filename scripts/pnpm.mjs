// npm run pnpm -- <arguments>: the pnpm that package.json pins, with Node's headers for native builds.
import { nativeBuildEnvironment } from "./lib/node-headers.mjs";
import { pnpm } from "./lib/pnpm.mjs";

const { code } = await pnpm(process.argv.slice(2), { env: { CI: "", ...(await nativeBuildEnvironment()) } });
process.exitCode = code ?? 1;
