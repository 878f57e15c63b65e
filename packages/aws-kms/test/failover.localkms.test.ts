import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { failoverSigner } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startLocalKms } from "@signpost/test-backends/local-kms";
import { provideCredentials } from "./environment.ts";
import { describeFailover } from "./failover-checks.ts";

const MULTI_REGION_ID = "mrk-1234abcd12ab34cd56ef1234567890ab";

describe("a Multi-Region key in two Regions", () => {
  describeFailover([startLocalKms, startLocalKms], MULTI_REGION_ID);

  test("that is another key under the same id is refused", async () => {
    const start = (region: string) => {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      return startLocalKms({ keys: [{ keyId: MULTI_REGION_ID, privateKey }], region });
    };
    await using first = await start("eu-west-1");
    await using second = await start("eu-central-1");
    provideCredentials(first.credentials);
    const signers = await Promise.all(
      [first, second].map((emulator) =>
        openAwsKmsSigner({ key: emulator.keyArn(MULTI_REGION_ID), endpoint: emulator.endpoint, policy: false }),
      ),
    );
    expect(() => failoverSigner(signers)).toThrow(expect.objectContaining({ name: "ConfigurationError" }));
  });
});
