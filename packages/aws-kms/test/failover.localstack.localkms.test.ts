import { randomUUID } from "node:crypto";
import { describe } from "vitest";
import { startLocalKms } from "@signpost/test-backends/local-kms";
import { startLocalstack } from "@signpost/test-backends/localstack";
import { describeFailover } from "./failover-checks.ts";

describe("one key in two implementations of KMS", () => {
  describeFailover([startLocalstack, startLocalKms], randomUUID());
});
