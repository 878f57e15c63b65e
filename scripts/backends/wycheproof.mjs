import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findProgram, run } from "../lib/process.mjs";
import { cacheFolder, scratchFolder } from "../lib/repository.mjs";
import { say } from "../lib/say.mjs";

const MODULE = "github.com/C2SP/wycheproof@v0.0.0-20250901140545-b51abcfb8daf";
/** Of all files of the module, as go.sum has it. */
const SUM = "h1:5BKKVVVj676FUWirLcouEEL6GCYR9X0opkMlEUck8FY=";

/** The files of vectors that the tests read. */
const FILES = [
  "ecdsa_secp256r1_sha256_test.json",
  "ecdsa_secp256r1_sha256_p1363_test.json",
  "ecdh_secp256r1_ecpoint_test.json",
  "ecdh_secp256r1_pem_test.json",
  "json_web_key_test.json",
  "json_web_signature_test.json",
];

/** Where the vectors are after `provideWycheproof`. */
export function wycheproofFolder() {
  return join(cacheFolder(), "wycheproof");
}

/** Downloads the vectors, which are in a Go module, unless they are there. If something is missing, the error says what. */
export async function provideWycheproof() {
  const folder = wycheproofFolder();
  const marker = join(folder, "sum");
  const isThere = FILES.every((file) => existsSync(join(folder, file)));
  if (isThere && existsSync(marker) && readFileSync(marker, "utf8") === SUM) return;
  if (findProgram("go") === undefined) throw new Error("go not found, and the vectors are in a Go module");
  say("Downloading the vectors of Wycheproof");
  // Outside of a module, and checked here: the module's own path differs from the one that it is served under.
  const { ok, output } = await run("go", ["mod", "download", "-json", MODULE], {
    cwd: scratchFolder("wycheproof"),
    env: { GOTOOLCHAIN: "local", GOFLAGS: "", GONOSUMDB: "*", GO111MODULE: "on" },
    quiet: true,
  });
  /** @type {{ Sum?: string, Dir?: string }} */
  const { Sum: sum, Dir: downloaded } = ok ? JSON.parse(output.slice(output.indexOf("{"))) : {};
  if (downloaded === undefined) throw new Error(`${MODULE} could not be downloaded:\n${output}`);
  if (sum !== SUM) throw new Error(`${MODULE} has the hash ${sum}, expected ${SUM}`);
  mkdirSync(folder, { recursive: true });
  for (const file of FILES) copyFileSync(join(downloaded, "testvectors_v1", file), join(folder, file));
  writeFileSync(marker, SUM);
}
