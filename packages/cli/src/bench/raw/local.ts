import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { probeText } from "../../doctor/probe.ts";
import type { OpenRaw } from "../side.ts";

/** node:crypto, with the key of the file. */
export const openRawLocal: OpenRaw = async ({ uri, context }) => {
  const key = await readKey(uri.slice(uri.indexOf(":") + 1), context.cwd);
  return {
    name: "bare node:crypto",
    sign: async () => void sign("sha256", probeText(), { key, dsaEncoding: "ieee-p1363" }),
    codeOf: (error) => String(Reflect.get(Object(error), "code") ?? "error"),
    close: async () => undefined,
  };
};

async function readKey(path: string, cwd: string): Promise<KeyObject> {
  if (path !== "") return createPrivateKey(await readFile(resolve(cwd, path)));
  // Each `local:` is another key.
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" }));
}
