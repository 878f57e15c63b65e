// A process with our fake Cloud KMS, so that its work is not counted as the client's. It takes the delay of its answers in
// milliseconds as a message, and reports when the delay is in effect.
import { startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";

export interface ServerReady {
  readonly host: string;
  readonly grpcPort: number;
  readonly restPort: number;
  readonly keyVersion: string;
}

const fake = await startFakeGcpKms();
const { name: keyVersion } = fake.addVersion();
const { host, grpcPort, restPort } = fake;

process.on("message", (latencyMs: number) => {
  fake.faults.clear();
  fake.faults.latencyMs = latencyMs;
  process.send?.("set");
});
process.on("disconnect", () => process.exit());
process.send?.({ host, grpcPort, restPort, keyVersion } satisfies ServerReady);
