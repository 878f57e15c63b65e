import { describe } from "vitest";
import { startLocalKms } from "@signpost/test-backends/local-kms";
import { describeEmulator } from "./emulator-checks.ts";

describe("local-kms", () => {
  describeEmulator(startLocalKms, {
    symmetric: "unsupported_key",
    opensDisabledKey: false,
    afterCancelledDeletion: "Enabled",
    // Looks at no Region.
    seesOtherRegions: true,
  });
});
