// A process with our fake vault, so that its work is not counted as the client's. It takes the delay of its answers in
// milliseconds as a message, and reports when the delay is in effect.
import { startFakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";

export interface ServerReady {
  readonly url: string;
  readonly caFile: string;
  readonly token: string;
  /** Of the key `op`. */
  readonly keyVersion: string;
}

const fake = await startFakeAzureKeyVault();
const { url, caFile, entra, key } = fake;
const { token } = entra.issue("https://127.0.0.1/.default");

process.on("message", (latencyMs: number) => {
  fake.faults.clear();
  fake.forgetRequests();
  fake.faults.latencyMs = latencyMs;
  process.send?.("set");
});
process.on("disconnect", () => {
  void fake.stop().then(() => process.exit());
});
process.send?.({ url, caFile, token, keyVersion: key.latest.version } satisfies ServerReady);
