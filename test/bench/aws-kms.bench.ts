import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { KMSClient, SignCommand } from "@aws-sdk/client-kms";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { createKeySet, signJwt } from "@signpost/core";
import type { ServerReady } from "./aws-kms-server.ts";
import { CLAIMS } from "./claims.ts";
import { withServiceDelay } from "./delayed-service.ts";
import { concurrently, runBench, sequentially } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";

interface Row {
  readonly name: string;
  /** Delay of each answer. Milliseconds. */
  readonly delayMs: number;
  readonly operations: number;
  readonly pairs: number;
  /** Calls at once, and one after another without. */
  readonly concurrency?: number;
  /** A token whose signature is verified, instead of a signature. */
  readonly verified?: boolean;
  /** The SDK is given an AbortSignal too, which keeps it from using its cache of middleware. */
  readonly abortable?: boolean;
}

const ROWS: readonly Row[] = [
  { name: "service of 0 ms", delayMs: 0, operations: 40, pairs: 60 },
  {
    name: "service of 0 ms, beside a call that can be aborted",
    delayMs: 0,
    operations: 40,
    pairs: 60,
    abortable: true,
  },
  { name: "service of 1 ms", delayMs: 1, operations: 20, pairs: 50 },
  { name: "service of 10 ms", delayMs: 10, operations: 4, pairs: 60 },
  { name: "service of 25 ms", delayMs: 25, operations: 2, pairs: 60 },
  { name: "service of 50 ms", delayMs: 50, operations: 1, pairs: 60 },
  { name: "service of 0 ms, verified token", delayMs: 0, operations: 40, pairs: 60, verified: true },
  { name: "service of 25 ms, verified token", delayMs: 25, operations: 2, pairs: 60, verified: true },
  { name: "16 at once", delayMs: 0, operations: 160, pairs: 50, concurrency: 16 },
];

const credentials = { accessKeyId: "AKIABENCHMARKEXAMPLE", secretAccessKey: "benchmark" };

await runBench({
  name: "aws-kms",
  title: "Latency and processor time that a guarded AWS KMS signer adds to the SDK called bare",
  packages: ["@signpost/aws-kms", "@aws-sdk/client-kms"],
  setUp: async () => {
    const server = fork(new URL("./aws-kms-server.js", import.meta.url));
    const [{ endpoint, region, keyArn }] = (await once(server, "message")) as [ServerReady];
    // One client and its connections for both sides, as quick as the SDK can be made.
    const client = new KMSClient({ endpoint, region, credentials, maxAttempts: 1, cacheMiddleware: true });
    const pairings: Pairing[] = [];
    for (const row of ROWS) pairings.push(await pairingOf(row, client, keyArn, server));
    return {
      pairings,
      tearDown: async () => {
        client.destroy();
        server.disconnect();
        await once(server, "exit");
      },
    };
  },
});

async function pairingOf(row: Row, client: KMSClient, keyArn: string, server: ChildProcess): Promise<Pairing> {
  const signer = await openAwsKmsSigner({ keyId: keyArn, client });
  const digest = randomBytes(32);
  const input = { KeyId: keyArn, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
  const keys = createKeySet([{ signer }]);
  const ours = (): Promise<unknown> => (row.verified === true ? signJwt(keys, CLAIMS) : signer.sign(digest));
  const bare = (): Promise<unknown> =>
    row.abortable === true
      ? client.send(new SignCommand(input), { abortSignal: new AbortController().signal })
      : client.send(new SignCommand(input));
  const withDelay = (operation: () => Promise<unknown>): Contender["run"] =>
    withServiceDelay(
      server,
      row.delayMs,
      row.concurrency === undefined ? sequentially(operation) : concurrently(row.concurrency, operation),
    );
  return {
    name: row.name,
    ours: { name: row.verified === true ? "signJwt" : "guarded signer", run: withDelay(ours) },
    peer: { name: "SignCommand of the SDK", run: withDelay(bare) },
    operations: row.operations,
    pairs: row.pairs,
    target: { addedMs: 0.2, addedCpuMs: row.verified === true ? 0.2 : 0.05 },
  };
}
