import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { openLocalSigner } from "@signpost/local";
import { type FaultyBackend, POLICY } from "../backend.ts";

/** Keys in this process. Only clocks and keys can fail. */
export async function startLocal(): Promise<FaultyBackend> {
  return {
    newKey: async () => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      return {
        publicKey: createPublicKey(privateKey),
        open: () => openLocalSigner({ privateKey, policy: POLICY }),
      };
    },
    faults: {},
    open: () => [],
    forget: () => undefined,
    stop: async () => undefined,
  };
}
