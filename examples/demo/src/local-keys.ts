import { openLocalSigner } from "@signpost/local";
import type { KeyStore } from "./key-store.ts";

/** Software keys, where no token can be had. */
export function openLocalKeys(reason: string): KeyStore {
  return {
    what: "this process (a software key)",
    introduction: [`No PKCS#11 token: ${reason}.`, "The rest is the same, with a key that is less well kept."],
    newSigner: () => openLocalSigner(),
    remove: async () => {},
  };
}
