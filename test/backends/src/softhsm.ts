import { execFile } from "node:child_process";
import { createPublicKey, randomInt, type KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Where Debian, Fedora, Alpine and Homebrew install the module. */
const MODULE_PATHS = [
  "/usr/lib/softhsm/libsofthsm2.so",
  "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
  "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so",
  "/usr/lib64/pkcs11/libsofthsm2.so",
  "/usr/local/lib/softhsm/libsofthsm2.so",
  "/opt/homebrew/lib/softhsm/libsofthsm2.so",
] as const;

export interface SoftHsmToken {
  readonly tokenLabel: string;
  readonly pin: string;
  readonly soPin: string;
  /** Makes a P-256 key pair inside the token and reads its public half back with a tool that is not ours. */
  generateKey(options: GenerateKeyOptions): Promise<GeneratedKey>;
  /** Makes a key pair that Signpost must refuse. */
  generateForeignKey(options: KeyName & { readonly keyType: "EC:secp384r1" | "rsa:2048" }): Promise<void>;
  /** Runs OpenSC's `pkcs11-tool` on this token, logged in as its user. Resolves with standard output. */
  pkcs11Tool(...args: readonly string[]): Promise<string>;
}

/** Several keys may share a label or an id. If both are the same, `publicKey` belongs to the oldest one. */
export interface KeyName {
  readonly label: string;
  /** `CKA_ID` in hexadecimal, two digits a byte. */
  readonly id: string;
}

export interface GenerateKeyOptions extends KeyName {
  /** `false` removes the public key object again, since many HSMs have none. Default `true`. */
  readonly publicObject?: boolean | undefined;
}

export interface GeneratedKey extends KeyName {
  readonly publicKey: KeyObject;
}

export interface SoftHsm extends SoftHsmToken, AsyncDisposable {
  /** Path of the PKCS#11 module. */
  readonly module: string;
  /** Path of the private configuration file, also in `process.env.SOFTHSM2_CONF` from now on. */
  readonly conf: string;
  /** The complete environment for a child process that must see these tokens. */
  readonly env: NodeJS.ProcessEnv;
  /** The private folder that `stop` removes. Tokens are below `tokens`. */
  readonly directory: string;
  /** Another token in the same folder. A module that is already initialized does not see it. */
  addToken(options?: SoftHsmTokenOptions): Promise<SoftHsmToken>;
  /** Removes the folder and restores `SOFTHSM2_CONF`. Idempotent. Close every signer first. */
  stop(): Promise<void>;
}

export interface SoftHsmTokenOptions {
  /** Default `signpost` and a random number. At most 32 bytes. */
  readonly label?: string | undefined;
  /** Default random digits, so that a test can look for them in output. */
  readonly pin?: string | undefined;
  readonly soPin?: string | undefined;
}

/**
 * Makes a private SoftHSM token store with one token, and points the calling process at it.
 *
 * SoftHSM reads `SOFTHSM2_CONF` when the module is initialized, and a process initializes a module once. So use one store
 * per process, with as many tokens as needed (`addToken`), and start it before the module is loaded.
 */
export async function startSoftHsm(options: SoftHsmTokenOptions = {}): Promise<SoftHsm> {
  const module = findModule();
  const directory = await mkdtemp(join(tmpdir(), "signpost-softhsm-"));
  const conf = join(directory, "softhsm2.conf");
  const tokens = join(directory, "tokens");
  await mkdir(tokens, { mode: 0o700 });
  await writeFile(conf, configuration(tokens), { mode: 0o600 });

  const env: NodeJS.ProcessEnv = { ...process.env, SOFTHSM2_CONF: conf };
  const context: Context = { module, env, directory };
  const token = await initToken(context, options);
  const before = process.env["SOFTHSM2_CONF"];
  process.env["SOFTHSM2_CONF"] = conf;

  const stop = async (): Promise<void> => {
    if (process.env["SOFTHSM2_CONF"] === conf) restoreConf(before);
    await rm(directory, { recursive: true, force: true });
  };
  return {
    ...token,
    module,
    conf,
    env,
    directory,
    addToken: (more = {}) => initToken(context, more),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Context {
  readonly module: string;
  readonly env: NodeJS.ProcessEnv;
  readonly directory: string;
}

function findModule(): string {
  const found = MODULE_PATHS.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`SoftHSM's module is in none of ${MODULE_PATHS.join(", ")}`);
  return found;
}

function configuration(tokens: string): string {
  return [
    `directories.tokendir = ${tokens}`,
    "objectstore.backend = file",
    "log.level = ERROR",
    "slots.removable = false",
    "slots.mechanisms = ALL",
    "library.reset_on_fork = false",
    "",
  ].join("\n");
}

function restoreConf(before: string | undefined): void {
  if (before === undefined) delete process.env["SOFTHSM2_CONF"];
  else process.env["SOFTHSM2_CONF"] = before;
}

async function initToken(context: Context, options: SoftHsmTokenOptions): Promise<SoftHsmToken> {
  const tokenLabel = options.label ?? `signpost-${randomDigits()}`;
  const pin = options.pin ?? randomDigits();
  const soPin = options.soPin ?? randomDigits();
  const args = ["--init-token", "--free", "--label", tokenLabel, "--so-pin", soPin, "--pin", pin];
  await run("softhsm2-util", args, context.env);

  const login = ["--module", context.module, "--token-label", tokenLabel, "--login", "--pin", pin];
  const pkcs11Tool = (...more: readonly string[]): Promise<string> =>
    run("pkcs11-tool", [...login, ...more], context.env);
  return {
    tokenLabel,
    pin,
    soPin,
    pkcs11Tool,
    generateKey: (key) => generate(pkcs11Tool, context.directory, key),
    generateForeignKey: async ({ label, id, keyType }) => {
      await pkcs11Tool("--keypairgen", "--key-type", keyType, "--label", label, "--id", id, "--usage-sign");
    },
  };
}

async function generate(
  pkcs11Tool: SoftHsmToken["pkcs11Tool"],
  directory: string,
  options: GenerateKeyOptions,
): Promise<GeneratedKey> {
  const { label, id, publicObject = true } = options;
  await pkcs11Tool("--keypairgen", "--key-type", "EC:prime256v1", "--label", label, "--id", id, "--usage-sign");

  // Read into a separate file, because the tool mixes other text into DER that it writes to a pipe.
  const output = join(directory, `public-${randomDigits()}.der`);
  await pkcs11Tool("--read-object", "--type", "pubkey", "--label", label, "--id", id, "--output-file", output);
  const publicKey = await readPublicKey(output);
  if (!publicObject) await pkcs11Tool("--delete-object", "--type", "pubkey", "--label", label, "--id", id);
  return { label, id, publicKey };
}

async function readPublicKey(path: string): Promise<KeyObject> {
  const key = createPublicKey({ key: await readFile(path), format: "der", type: "spki" });
  await rm(path);
  return key;
}

function randomDigits(): string {
  return String(randomInt(10_000_000, 99_999_999));
}

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await promisify(execFile)(command, [...args], { env });
  return stdout;
}
