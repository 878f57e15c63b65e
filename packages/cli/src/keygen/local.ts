import { generateKeyPairSync } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { exists, refuse, type MakeKey } from "./maker.ts";

/** A PEM file that only its owner can read. */
export const makeLocalKey: MakeKey = async ({ uri, context }) => {
  const path = uri.slice(uri.indexOf(":") + 1);
  if (path === "") throw refuse("local: names no file", "signpost keygen local:keys/op.pem");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const file = resolve(context.cwd, path);
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeNew(file, privateKey.export({ type: "pkcs8", format: "pem" }));
  } catch (error) {
    const code = String(Reflect.get(Object(error), "code"));
    if (code === "EEXIST") throw exists("The file", "Name another file");
    throw refuse(`The file cannot be written (${code})`);
  }
  return uri;
};

/** Creates the file. What a full disk leaves of it is no key, and would be in the way of the next one. */
async function writeNew(file: string, content: string | Uint8Array): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
