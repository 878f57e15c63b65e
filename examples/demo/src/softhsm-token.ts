import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyStore } from "./key-store.ts";
import { show } from "./print.ts";

const TOKEN = "op";

const MODULES = [
  "/usr/lib/softhsm/libsofthsm2.so",
  "/usr/lib64/pkcs11/libsofthsm2.so",
  "/usr/local/lib/softhsm/libsofthsm2.so",
  "/opt/homebrew/lib/softhsm/libsofthsm2.so",
];

/** A private SoftHSM token. With a hardware module, the module path differs, and you make the keys with the vendor's tools. */
export async function openSoftHsmToken(): Promise<KeyStore> {
  const module = MODULES.find((path) => existsSync(path));
  if (module === undefined) throw new Error(`SoftHSM's module not found. Looked for ${MODULES.join(", ")}`);
  const folder = await makeTokenFolder();
  const pin = randomPin();
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await run("softhsm2-util", ["--init-token", "--free", "--label", TOKEN, "--so-pin", randomPin(), "--pin", pin]);
  } catch (error) {
    await remove();
    throw error;
  }

  const newSigner: KeyStore["newSigner"] = async (label) => {
    const login = ["--module", module, "--token-label", TOKEN, "--login", "--pin", pin];
    const key = ["--keypairgen", "--key-type", "EC:prime256v1", "--label", label, "--id", idOf(label), "--usage-sign"];
    await run("pkcs11-tool", [...login, ...key]);
    // Imported only here, because it loads a binding that must be compiled.
    const { openPkcs11Signer } = await import("@signpost/pkcs11");
    return openPkcs11Signer({ module, token: TOKEN, object: label, pin });
  };
  return { place: "the same token", newSigner, remove };
}

async function makeTokenFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-demo-"));
  const tokens = join(folder, "tokens");
  const conf = join(folder, "softhsm2.conf");
  await mkdir(tokens, { mode: 0o700 });
  await writeFile(conf, `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`);
  // The module reads this when it loads, in this process and in the tools that the demo starts.
  process.env["SOFTHSM2_CONF"] = conf;
  return folder;
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const shown = args.map((arg, index) => (args[index - 1]?.endsWith("pin") ? "…" : arg));
  show("$", [command, ...shown].join(" "));
  await new Promise<void>((done, failed) => {
    execFile(command, [...args], (error, _stdout, stderr) => {
      // Node's error would contain the command with its PINs.
      if (error === null) done();
      else failed(new Error(`${command} failed with ${String(error.code)}: ${stderr.trim()}`));
    });
  });
}

function idOf(label: string): string {
  return Buffer.from(label).toString("hex");
}

function randomPin(): string {
  return String(randomInt(10_000_000, 99_999_999));
}
