import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { KeyManagementServiceClient } from "@google-cloud/kms";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { createKeySet, signJwt } from "@signpost/core";
import { connectGcpKmsClient } from "@signpost/test-backends/fake-gcp-kms-client";
import type { ServerReady } from "./gcp-kms-server.ts";
import { CLAIMS } from "./claims.ts";
import { withServiceDelay } from "./delayed-service.ts";
import { concurrently, runBench, sequentially } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";

interface Row {
  readonly name: string;
  readonly transport: "grpc" | "rest";
  /** Delay of each answer. Milliseconds. */
  readonly delayMs: number;
  readonly operations: number;
  readonly pairs: number;
  /** Calls at once, and one after another without. */
  readonly concurrency?: number;
  /** A token whose signature is verified, instead of a signature. */
  readonly verified?: boolean;
}

const ROWS: readonly Row[] = [
  { name: "gRPC, service of 0 ms", transport: "grpc", delayMs: 0, operations: 40, pairs: 60 },
  { name: "gRPC, service of 1 ms", transport: "grpc", delayMs: 1, operations: 20, pairs: 50 },
  { name: "gRPC, service of 10 ms", transport: "grpc", delayMs: 10, operations: 4, pairs: 60 },
  { name: "gRPC, service of 25 ms", transport: "grpc", delayMs: 25, operations: 2, pairs: 60 },
  { name: "gRPC, service of 50 ms", transport: "grpc", delayMs: 50, operations: 1, pairs: 60 },
  {
    name: "gRPC, service of 0 ms, verified token",
    transport: "grpc",
    delayMs: 0,
    operations: 40,
    pairs: 60,
    verified: true,
  },
  {
    name: "gRPC, service of 25 ms, verified token",
    transport: "grpc",
    delayMs: 25,
    operations: 2,
    pairs: 60,
    verified: true,
  },
  { name: "gRPC, 16 at once", transport: "grpc", delayMs: 0, operations: 160, pairs: 50, concurrency: 16 },
  { name: "REST, service of 0 ms", transport: "rest", delayMs: 0, operations: 40, pairs: 50 },
];

await runBench({
  name: "gcp-kms",
  title: "Latency and processor time that a guarded Cloud KMS signer adds to the client called bare",
  packages: ["@signpost/gcp-kms", "@google-cloud/kms"],
  setUp: async () => {
    const server = fork(new URL("./gcp-kms-server.js", import.meta.url));
    const [ready] = (await once(server, "message")) as [ServerReady];
    const clients = { grpc: connectGcpKmsClient(ready, "grpc"), rest: connectGcpKmsClient(ready, "rest") };
    const pairings: Pairing[] = [];
    for (const row of ROWS) pairings.push(await pairingOf(row, clients[row.transport], ready, server));
    return {
      pairings,
      tearDown: async () => {
        await Promise.all([clients.grpc.close(), clients.rest.close()]);
        server.disconnect();
        await once(server, "exit");
      },
    };
  },
});

/** Both sides share one client and its connection. */
async function pairingOf(
  row: Row,
  client: KeyManagementServiceClient,
  { keyVersion }: ServerReady,
  server: ChildProcess,
): Promise<Pairing> {
  const signer = await openGcpKmsSigner({ keyVersion, client });
  const digest = randomBytes(32);
  const request = { name: keyVersion, digest: { sha256: digest } };
  const keys = createKeySet([{ signer }]);
  const ours = (): Promise<unknown> => (row.verified === true ? signJwt(keys, CLAIMS) : signer.sign(digest));
  const bare = (): Promise<unknown> => client.asymmetricSign(request, { timeout: 2000, retry: null });
  const withDelay = (operation: () => Promise<unknown>): Contender["run"] =>
    withServiceDelay(
      server,
      row.delayMs,
      row.concurrency === undefined ? sequentially(operation) : concurrently(row.concurrency, operation),
    );
  return {
    name: row.name,
    ours: { name: row.verified === true ? "signJwt" : "guarded signer, checked by CRC32C", run: withDelay(ours) },
    peer: { name: "asymmetricSign of the client", run: withDelay(bare) },
    operations: row.operations,
    pairs: row.pairs,
    target: { addedMs: 0.2, addedCpuMs: row.verified === true ? 0.2 : 0.05 },
  };
}
