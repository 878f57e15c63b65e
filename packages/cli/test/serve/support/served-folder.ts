import { createKeyFolder, type KeyFolder } from "../../support/key-folder.ts";

/** A working folder with one key and a configuration that publishes it as `a`. */
export async function createServedFolder(): Promise<KeyFolder> {
  const folder = await createKeyFolder();
  const publicKey = await folder.addKey("op.pem");
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys: [{ keyId: "a", publicKey }] });
  return folder;
}
