import { afterAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { startLocalKms } from "@signpost/test-backends/local-kms";
import { startEmulatorHarness } from "./emulator-harness.ts";

const { harness, stop } = await startEmulatorHarness(startLocalKms, { restarts: true });
afterAll(() => stop());

describe("a signer on local-kms", () => {
  for (const check of signerChecks(harness)) test(check.name, check.run);
});
