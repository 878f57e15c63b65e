import { openLocalSigner } from "@signpost/local";
import type { KeyStore } from "./key-store.ts";

/** Software keys, for machines without a token. */
export async function openLocalKeys(): Promise<KeyStore> {
  return { place: "this process", newSigner: () => openLocalSigner(), remove: async () => {} };
}
