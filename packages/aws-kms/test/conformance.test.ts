import { afterAll, beforeAll, describe, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { signerChecks } from "@signpost/conformance";
import { AWS_KMS_FAULTS, startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { clientOf, provideCredentials } from "./environment.ts";

const fake = await startFakeAwsKms();
const key = fake.addKey();
const client = clientOf(fake);

beforeAll(() => provideCredentials(fake.credentials));
afterAll(() => fake.stop());

const secrets = [fake.credentials.secretAccessKey];
/** What depends on the client. Everything else the adapter sees in the answer, whoever brought it. */
const CLIENT_FAULTS = ["unreachable", "throttle", "reset", "hang", "hang-after-headers", "truncated", "html"] as const;
/** Longer than the slowest answer, and short where the fault stays. Milliseconds. */
const OPEN_DEADLINE_MS = 2_000;

describe("a signer with a client of its own", () => {
  for (const check of signerChecks({
    secrets,
    faults: fake.switches(AWS_KMS_FAULTS),
    open: (policy) =>
      openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy, openDeadlineMs: OPEN_DEADLINE_MS }),
    openWith: (limits) => openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, ...limits }),
  })) {
    test(check.name, check.run);
  }
});

describe("a signer with a client of the caller's", () => {
  for (const check of signerChecks({
    secrets,
    faults: fake.switches(CLIENT_FAULTS),
    open: (policy) => openAwsKmsSigner({ key: key.keyId, client, policy, openDeadlineMs: OPEN_DEADLINE_MS }),
    openWith: (limits) => openAwsKmsSigner({ key: key.keyId, client, ...limits }),
  })) {
    test(check.name, check.run);
  }
});
