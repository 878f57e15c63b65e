import { generateKeyPairSync } from "node:crypto";
import { describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { openLocalSigner } from "@signpost/local";

const privateKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });

describe("a local signer", () => {
  for (const check of signerChecks({
    open: (policy) => openLocalSigner({ privateKey, policy }),
    secrets: [privateKey.d ?? ""],
  })) {
    test(check.name, check.run);
  }
});
