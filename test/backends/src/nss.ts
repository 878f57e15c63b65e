import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const MODULE_PATHS = [
  "/usr/lib/x86_64-linux-gnu/libsoftokn3.so",
  "/usr/lib/aarch64-linux-gnu/libsoftokn3.so",
  "/usr/lib64/libsoftokn3.so",
] as const;

/** The token of a private NSS database. */
export interface NssToken extends AsyncDisposable {
  /** Path of the module. */
  readonly module: string;
  /** What C_Initialize needs to find the database. */
  readonly libraryParameters: string;
  /** The name of the database for NSS's own tools. */
  readonly database: string;
  readonly tokenLabel: string;
  readonly pin: string;
  /** Changes the password with NSS's own tool. */
  changePin(pin: string): Promise<void>;
  stop(): Promise<void>;
}

interface NssOptions {
  /** `false` makes a database without one. Its keys are visible and can sign without a login. Default `true`. */
  readonly password?: boolean;
  /** The password. */
  readonly pin?: string;
}

export async function startNss(options: NssOptions = {}): Promise<NssToken> {
  const module = MODULE_PATHS.find((path) => existsSync(path));
  if (module === undefined) throw new Error(`NSS's module is in none of ${MODULE_PATHS.join(", ")}`);
  const directory = await mkdtemp(join(tmpdir(), "signpost-nss-"));
  const { pin = "nss-31415926" } = options;
  const password = join(directory, "password");
  await writeFile(password, `${pin}\n`, { mode: 0o600 });
  const secured = options.password === false ? ["--empty-password"] : ["-f", password];
  await promisify(execFile)("certutil", ["-N", "-d", `sql:${directory}`, ...secured]);
  const changePin = async (next: string): Promise<void> => {
    const file = join(directory, "next-password");
    await writeFile(file, `${next}\n`, { mode: 0o600 });
    await promisify(execFile)("certutil", ["-W", "-d", `sql:${directory}`, "-f", password, "-@", file]);
    await rename(file, password);
  };
  const stop = (): Promise<void> => rm(directory, { recursive: true, force: true });
  return {
    module,
    libraryParameters: `configdir='sql:${directory}' certPrefix='' keyPrefix='' secmod='secmod.db' flags=`,
    database: `sql:${directory}`,
    tokenLabel: "NSS Certificate DB",
    pin,
    changePin,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
