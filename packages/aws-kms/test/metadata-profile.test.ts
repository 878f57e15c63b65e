import { mkdtempSync, rmSync } from "node:fs";
import { globalAgent } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { provideConfiguration, provideCredentials } from "./environment.ts";

const folder = mkdtempSync(join(tmpdir(), "aws-metadata-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a metadata service that a profile names as its source passes when it cannot be reached", async () => {
  // Whatever this machine has at the address of the metadata service is not asked: its port is a closed one here.
  Object.assign(globalAgent, { createConnection: () => connect(1, "127.0.0.1") });
  provideCredentials(undefined);
  delete process.env["AWS_EC2_METADATA_DISABLED"];
  const open = () =>
    openAwsKmsSigner({
      key: "alias/op-2026",
      region: "eu-west-1",
      endpoint: "http://127.0.0.1:1",
      policy: { maxAttempts: 1 },
    });
  await expect(open()).rejects.toMatchObject({ code: "access_denied", transient: false });

  const profile = "[default]\nrole_arn = arn:aws:iam::111122223333:role/op\ncredential_source = Ec2InstanceMetadata\n";
  provideConfiguration(folder, profile);
  await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
});
