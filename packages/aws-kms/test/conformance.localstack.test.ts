import { afterAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { startLocalstack } from "@signpost/test-backends/localstack";
import { startEmulatorHarness } from "./emulator-harness.ts";

const { harness, stop } = await startEmulatorHarness(startLocalstack, { restarts: false });
afterAll(() => stop());

describe("a signer on LocalStack", () => {
  for (const check of signerChecks(harness)) test(check.name, check.run);
});
