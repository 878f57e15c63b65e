import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

const MODULE_PATHS = [
  "/usr/lib/x86_64-linux-gnu/pkcs11/libtpm2_pkcs11.so",
  "/usr/lib/aarch64-linux-gnu/pkcs11/libtpm2_pkcs11.so",
  "/usr/lib64/pkcs11/libtpm2_pkcs11.so",
] as const;
const START_MS = 15_000;
const VARIABLES = ["TPM2_PKCS11_STORE", "TPM2_PKCS11_TCTI", "TPM2TOOLS_TCTI", "TSS2_LOG"] as const;

/** A token in a private software TPM. */
export interface Tpm2Token extends AsyncDisposable {
  /** Path of the module. */
  readonly module: string;
  readonly tokenLabel: string;
  readonly pin: string;
  /** Makes a P-256 key pair. `id` is hexadecimal. */
  generateKey(label: string, id: string): Promise<void>;
  /** Stops the TPM in the middle of any work. */
  kill(): Promise<void>;
  /** Stops the TPM in the middle of any work, and starts it again with the same state. */
  restart(): Promise<void>;
  /** Handles of sessions and objects that were left in the TPM, as the tool lists them. */
  leftHandles(): Promise<readonly string[]>;
  /** Removes every leftover object and session from the TPM. It must not be in use. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts swtpm on loopback with a private state folder, makes a token on it, and points the calling process at both. There
 * is no resource manager, so one process at a time may use the module, and it must finalize it.
 */
export async function startTpm2(): Promise<Tpm2Token> {
  const module = MODULE_PATHS.find((path) => existsSync(path));
  if (module === undefined) throw new Error(`tpm2-pkcs11's module is in none of ${MODULE_PATHS.join(", ")}`);
  const directory = await mkdtemp(join(tmpdir(), "signpost-tpm2-"));
  for (const name of ["state", "store"]) await mkdir(join(directory, name), { mode: 0o700 });
  const ports = await freePorts();
  let tpm = await startSwtpm(join(directory, "state"), ports);
  const tcti = `swtpm:host=127.0.0.1,port=${ports.server}`;
  const values = {
    TPM2_PKCS11_STORE: join(directory, "store"),
    TPM2_PKCS11_TCTI: tcti,
    TPM2TOOLS_TCTI: tcti,
    TSS2_LOG: "all+none",
  };
  const before = VARIABLES.map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, values);

  const tool = async (command: string, ...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(command, [...args], { env: process.env })).stdout;
  const token = { tokenLabel: "signpost-tpm", pin: "24681357", soPin: "97531864" };
  const use = ["--module", module, "--token-label", token.tokenLabel];
  await tool(
    "pkcs11-tool",
    "--module",
    module,
    "--init-token",
    "--slot-index",
    "0",
    "--label",
    token.tokenLabel,
    "--so-pin",
    token.soPin,
  );
  await tool(
    "pkcs11-tool",
    ...use,
    "--login",
    "--login-type",
    "so",
    "--so-pin",
    token.soPin,
    "--init-pin",
    "--new-pin",
    token.pin,
  );

  const stop = async (): Promise<void> => {
    await end(tpm);
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    await rm(directory, { recursive: true, force: true });
  };
  return {
    module,
    tokenLabel: token.tokenLabel,
    pin: token.pin,
    generateKey: async (label, id) => {
      const key = ["--keypairgen", "--key-type", "EC:prime256v1", "--label", label, "--id", id, "--usage-sign"];
      await tool("pkcs11-tool", ...use, "--login", "--pin", token.pin, ...key);
    },
    kill: () => end(tpm),
    restart: async () => {
      await end(tpm);
      tpm = await startSwtpm(join(directory, "state"), ports);
    },
    leftHandles: async () => {
      const lists = await Promise.all(
        ["handles-transient", "handles-loaded-session"].map((name) => tool("tpm2_getcap", name)),
      );
      return lists.flatMap((list) => list.split("\n").filter((line) => line.trim().startsWith("-")));
    },
    flush: async () => {
      for (const kind of ["-t", "-l"]) await tool("tpm2_flushcontext", kind);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Ports {
  readonly server: number;
  readonly control: number;
}

// The library reaches the control channel at the other port plus one.
async function freePorts(): Promise<Ports> {
  for (let tries = 0; tries < 50; tries += 1) {
    const server = await portOf(0);
    const control = await portOf(server + 1).catch(() => undefined);
    if (control !== undefined) return { server, control };
  }
  throw new Error("no two free ports in a row");
}

async function portOf(port: number): Promise<number> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function startSwtpm(state: string, { server, control }: Ports): Promise<ChildProcess> {
  const listen = (port: number): string => `type=tcp,port=${port},bindaddr=127.0.0.1`;
  const args = [
    "socket",
    "--tpm2",
    "--tpmstate",
    `dir=${state}`,
    "--server",
    listen(server),
    "--ctrl",
    listen(control),
    "--flags",
    "not-need-init,startup-clear",
  ];
  const tpm = spawn("swtpm", args, { stdio: ["ignore", "ignore", "inherit"] });
  const until = performance.now() + START_MS;
  // Its command port takes one connection and ends with it, so a tool's answer shows that it is ready.
  for (;;) {
    const env = { ...process.env, TPM2TOOLS_TCTI: `swtpm:host=127.0.0.1,port=${server}`, TSS2_LOG: "all+none" };
    const answers = await promisify(execFile)("tpm2_getcap", ["handles-transient"], { env }).then(
      () => true,
      () => false,
    );
    if (answers) return tpm;
    if (tpm.exitCode !== null || performance.now() > until) throw new Error("swtpm did not start");
    await pause(50);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
