// A process with our fake Transit engine, so that its work is not counted as the client's. It takes the delay of its answers
// in milliseconds as a message, and reports when the delay is in effect.
import { startFakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";

export interface ServerReady {
  readonly address: string;
  readonly token: string;
}

const fake = await startFakeVaultTransit();
const { address, token } = fake;

process.on("message", (latencyMs: number) => {
  fake.reset();
  fake.faults.latencyMs = latencyMs;
  process.send?.("set");
});
process.on("disconnect", () => process.exit());
process.send?.({ address, token } satisfies ServerReady);
