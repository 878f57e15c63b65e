import { existsSync } from "node:fs";
import { join } from "node:path";
import { nativeBuildEnvironment } from "../lib/node-headers.mjs";
import { run } from "../lib/process.mjs";
import { ROOT } from "../lib/repository.mjs";
import { say, sayOutput } from "../lib/say.mjs";

/**
 * Installing the dependencies compiles pkcs11js. It is optional, so a failed build leaves everything else installed. If the build
 * failed because there was no compiler, this builds it again once there is one.
 */
export async function providePkcs11js() {
  const folder = join(ROOT, "node_modules/pkcs11js");
  if (await loads()) return;
  if (existsSync(folder)) {
    say("Compiling pkcs11js");
    // npm includes node-gyp. `pnpm rebuild` would install everything first.
    const { output } = await run("npm", ["exec", "-c", "node-gyp rebuild"], {
      cwd: folder,
      env: await nativeBuildEnvironment(),
      quiet: true,
    });
    if (await loads()) return;
    sayOutput(output);
  }
  throw new Error("pkcs11js did not compile");
}

async function loads() {
  const { ok } = await run(process.execPath, ["-e", "require('pkcs11js')"], { quiet: true });
  return ok;
}
