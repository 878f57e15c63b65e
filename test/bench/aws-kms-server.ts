// A process with our fake AWS KMS, so that its work is not counted as the client's. It takes the delay of its answers in
// milliseconds as a message, and reports when the delay is in effect.
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";

export interface ServerReady {
  readonly endpoint: string;
  readonly region: string;
  readonly keyArn: string;
}

const fake = await startFakeAwsKms();
const { arn: keyArn } = fake.addKey();
const { endpoint, region } = fake;

process.on("message", (latencyMs: number) => {
  fake.reset();
  fake.faults.latencyMs = latencyMs;
  process.send?.("set");
});
process.on("disconnect", () => process.exit());
process.send?.({ endpoint, region, keyArn } satisfies ServerReady);
