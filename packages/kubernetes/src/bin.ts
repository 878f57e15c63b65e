#!/usr/bin/env node
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { isMissing } from "./missing-package.ts";

const HELP = `Signs the ServiceAccount tokens of kube-apiserver with a key in a KMS or HSM.

USAGE
  signpost-kubernetes --config FILE [--check]

OPTIONS
  --config FILE  The configuration, in JSON
  --check        Read the configuration, open the keys that it needs now, and end
  --help         Print this help
  --version      Print the version

kube-apiserver connects with --service-account-signing-endpoint=PATH, the path of the socket.
SIGHUP loads the configuration again. SIGTERM finishes the calls that have begun, and ends.

EXIT CODES
  0  stopped by SIGTERM or Ctrl-C, or the check found nothing wrong
  2  the command line or the configuration is wrong
  3  a key cannot be opened, or stdout has the audit log and cannot be written
`;

const USAGE = 2;
const FAILED = 3;
const GRPC = "@grpc/grpc-js";

async function main(): Promise<number> {
  // At once, because it would end the process. The program has its own listener as soon as it is loaded.
  process.on("SIGHUP", () => undefined);
  const flags = readFlags();
  if (flags.help === true) return print(HELP);
  if (flags.version === true) return print(`${version()}\n`);
  if (flags.config === undefined || flags.config === "") {
    process.stderr.write("error --config: expected the path of a configuration. See signpost-kubernetes --help\n");
    return USAGE;
  }
  const ending = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => ending.abort());
  // A reader of the log that went away is no reason to stop signing.
  process.stderr.on("error", () => undefined);
  const program = await loadProgram();
  if (program === undefined) return USAGE;
  let isCutOff = false;
  // Without its audit log, no token leaves. A supervisor that starts it again gives it another stdout.
  process.stdout.on("error", () => {
    isCutOff = true;
    ending.abort();
  });
  const code = await program.runKubernetesSigner({ config: flags.config, check: flags.check, signal: ending.signal });
  return isCutOff ? FAILED : code;
}

/** Undefined without the gRPC library, which npm 6 and `--legacy-peer-deps` leave out. */
async function loadProgram(): Promise<typeof import("./program/run.ts") | undefined> {
  try {
    return await import("./program/run.ts");
  } catch (error) {
    if (!isMissing(error, GRPC)) throw error;
    process.stderr.write(`error ${GRPC} is not installed, and this program needs it: npm install ${GRPC}\n`);
    return undefined;
  }
}

interface Flags {
  readonly config?: string | undefined;
  readonly check?: boolean | undefined;
  readonly help?: boolean | undefined;
  readonly version?: boolean | undefined;
}

function readFlags(): Flags {
  const boolean = { type: "boolean" } as const;
  const options = { config: { type: "string" }, check: boolean, help: boolean, version: boolean } as const;
  try {
    return parseArgs({ options, strict: true, allowPositionals: false }).values;
  } catch {
    // Without what was written: it may be a secret in the wrong place.
    process.stderr.write("error the command line has something that is no option. See signpost-kubernetes --help\n");
    process.exit(USAGE);
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function version(): string {
  const manifest = createRequire(import.meta.url)("@signpost/kubernetes/package.json") as { version: string };
  return manifest.version;
}

process.exitCode = await main();
