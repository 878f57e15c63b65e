import { describe } from "vitest";
import { startLocalstack } from "@signpost/test-backends/localstack";
import { describeEmulator } from "./emulator-checks.ts";

describe("LocalStack", () => {
  describeEmulator(startLocalstack, {
    // Answers 200 without a PublicKey.
    symmetric: "integrity",
    opensDisabledKey: true,
    afterCancelledDeletion: "Disabled",
    seesOtherRegions: false,
  });
});
