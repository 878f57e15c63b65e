import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { join } from "node:path";
import { cacheFolder } from "./process.ts";

/**
 * Whether the Yivi wallet accepts these SD-JWT VCs from an issuer, if it trusts this root (PEM). For each credential the reason
 * why it does not, or `""`. The rest of the wallet is not here: it looks up no status list, and compares `iss` with no name.
 */
export async function askYivi(root: string, credentials: readonly string[]): Promise<string[]> {
  const program = spawn(join(cacheFolder(), "yivi", "yivi"), { stdio: ["pipe", "pipe", "inherit"] });
  program.stdin.end(JSON.stringify({ root, credentials }));
  const [output] = await Promise.all([text(program.stdout), once(program, "close")]);
  return JSON.parse(output) as string[];
}
