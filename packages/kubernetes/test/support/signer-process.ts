import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type KeptSocket, startKeptSocket } from "@signpost/test-backends/kept-socket";
import { freePort, startProcess } from "@signpost/test-backends/process";

/** The built program. */
export const BIN: string = fileURLToPath(new URL("../../dist/bin.js", import.meta.url));

/** The part of a configuration that a test chooses. */
export type SignerSettings = Readonly<Record<string, unknown>>;

/** A private folder with the files and the socket of a signer. */
export interface SignerFolder extends AsyncDisposable {
  readonly path: string;
  readonly socket: string;
  /** `http://127.0.0.1:port` of `admin`. */
  readonly admin: string;
  /** Replaces the configuration in one step. The socket is at its path, unless the settings say otherwise. */
  configure(settings: SignerSettings): Promise<void>;
  /** Writes another file, and returns its path. */
  write(name: string, content: string): Promise<string>;
  isReady(): Promise<boolean>;
  metrics(): Promise<string>;
}

export async function createSignerFolder(): Promise<SignerFolder> {
  const path = await mkdtemp(join(tmpdir(), "signpost-signer-"));
  await mkdir(join(path, "run"), { mode: 0o700 });
  const socket = join(path, "run/signer.sock");
  const port = await freePort();
  const admin = `http://127.0.0.1:${port}`;
  const write = async (name: string, content: string): Promise<string> => {
    const file = join(path, name);
    await writeFile(`${file}.new`, content, { mode: 0o600 });
    await rename(`${file}.new`, file);
    return file;
  };
  return {
    path,
    socket,
    admin,
    write,
    configure: async (settings) => {
      const config = { socket: { path: socket }, admin: { host: "127.0.0.1", port }, audit: "-", ...settings };
      await write("kubernetes.json", JSON.stringify(config));
    },
    isReady: () =>
      fetch(`${admin}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    metrics: async () => (await fetch(`${admin}/metrics`)).text(),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** A running signer, in a process. */
export interface Signer {
  signal(signal: NodeJS.Signals): Promise<void>;
  /** What it has written, the last 64 KiB. */
  output(): string;
  stop(): Promise<void>;
}

/** Starts the program with the configuration of the folder, and waits until it is ready. */
export async function startSigner(folder: SignerFolder, env?: NodeJS.ProcessEnv): Promise<Signer> {
  const child = startProcess({ command: process.execPath, args: argumentsOf(folder), env: quiet(env) });
  await child.waitUntil("is ready", folder.isReady);
  return {
    signal: async (signal) => void process.kill(child.pid, signal),
    output: child.output,
    stop: () => child.stop(),
  };
}

/** The same with a listening socket that outlives it. The configuration has `"socket": { "systemd": true }`. */
export async function startSignerUnit(folder: SignerFolder, env?: NodeJS.ProcessEnv): Promise<KeptSocket> {
  const command = [process.execPath, ...argumentsOf(folder)] as const;
  const unit = await startKeptSocket({ path: folder.socket, name: "signer", command, env: quiet(env) });
  await waitUntilReady(folder).catch(async (error: unknown) => {
    const output = unit.output();
    await unit.stop();
    throw new Error(`${String(error)}\n${output}`);
  });
  return unit;
}

export async function waitUntilReady(folder: SignerFolder): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await folder.isReady())) {
    if (Date.now() > end) throw new Error("the signer is not ready");
    await once(AbortSignal.timeout(50), "abort");
  }
}

function argumentsOf({ path }: SignerFolder): readonly [string, ...string[]] {
  return [BIN, "--config", join(path, "kubernetes.json")];
}

/** The notice of the AWS SDK about Node 20 is not ours. */
function quiet(env?: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { NODE_NO_WARNINGS: "1", ...env };
}
