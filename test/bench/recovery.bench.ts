// How long a signer takes to its next good signature after its connections died without a word, or after the source of its
// credentials did not answer. The peer is the same signer with everything in order.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import type { GuardedSigner } from "@signpost/core";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { startSilentNetwork, type SilentNetwork } from "@signpost/test-backends/silent-network";
import { type Pairing, runBench } from "./harness.ts";

/** Short, so that a run takes two minutes. */
const POLICY = { attemptTimeoutMs: 500, deadlineMs: 20_000, maxAttempts: 8 } as const;
/** One attempt more, and the guard's first pause. */
const target = { addedMs: POLICY.attemptTimeoutMs + 50 };
const PAIRS = 12;
const digest = randomBytes(32);

interface Place {
  readonly name: string;
  readonly signer: GuardedSigner;
  readonly network: SilentNetwork;
  /** How many connections die. gRPC has one. */
  readonly counts: readonly number[];
  /** Makes each answer take this long, so that calls at once need a connection each. */
  delay(ms: number): void;
}

await runBench({
  name: "recovery",
  title: "Recovery: time to the next good signature after connections died, and after credentials did not come",
  packages: ["@signpost/aws-kms", "@signpost/gcp-kms", "@aws-sdk/client-kms", "@google-cloud/kms"],
  setUp: async () => {
    const aws = await startFakeAwsKms();
    const gcp = await startFakeGcpKms();
    process.env["AWS_ACCESS_KEY_ID"] = aws.credentials.accessKeyId;
    process.env["AWS_SECRET_ACCESS_KEY"] = aws.credentials.secretAccessKey;
    const { arn, publicKey } = aws.addKey();
    const { name: keyVersion } = gcp.addVersion();
    const awsDelay = (ms: number): void => void (aws.faults.latencyMs = ms);
    const gcpDelay = (ms: number): void => void (gcp.faults.latencyMs = ms);

    const awsPlace = async (transport: "sdk" | "https"): Promise<Place> => {
      const network = await startSilentNetwork(aws.port);
      const endpoint = `http://127.0.0.1:${network.port}`;
      const signer = await openAwsKmsSigner({ key: arn, endpoint, transport, policy: POLICY });
      return { name: `AWS KMS, transport ${transport}`, signer, network, counts: [1, 4, 16], delay: awsDelay };
    };
    const gcpPlace = async (transport: "grpc" | "rest"): Promise<Place> => {
      const network = await startSilentNetwork(transport === "grpc" ? gcp.grpcPort : gcp.restPort);
      const endpoint = `http://127.0.0.1:${network.port}`;
      const signer = await openGcpKmsSigner({ keyVersion, endpoint, transport, policy: POLICY });
      // Over REST each dead connection of the pool costs an attempt, so sixteen would be more than a call has.
      const counts = transport === "grpc" ? [1] : [1, 4];
      return { name: `Google Cloud KMS, transport ${transport}`, signer, network, counts, delay: gcpDelay };
    };
    const places = [await awsPlace("sdk"), await awsPlace("https"), await gcpPlace("grpc"), await gcpPlace("rest")];
    const credentials = await startCredentials();
    const publicJwk = publicKey?.export({ format: "jwk" });

    /** The first signature of a new signer, whose credentials come from a container's endpoint. */
    const firstSignature = async (transport: "sdk" | "https", hangs: number): Promise<number> => {
      const kept = { ...process.env };
      delete process.env["AWS_ACCESS_KEY_ID"];
      process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = credentials.url;
      try {
        credentials.hangNext(hangs);
        const options = { key: arn, publicKey: publicJwk, endpoint: aws.endpoint, transport, policy: POLICY };
        const signer = await openAwsKmsSigner(options);
        const ms = await timed(() => signer.sign(digest));
        await signer.close();
        return ms;
      } finally {
        process.env = kept;
      }
    };
    const hung = (transport: "sdk" | "https"): Pairing => ({
      name: `AWS KMS, transport ${transport}: the credentials endpoint hangs once`,
      ours: { name: "it hangs once", run: () => firstSignature(transport, 1) },
      peer: { name: "it answers", run: () => firstSignature(transport, 0) },
      pairs: PAIRS,
      target,
    });
    return {
      pairings: [
        ...places.flatMap((place) => place.counts.map((count) => dead(place, count))),
        hung("sdk"),
        hung("https"),
      ],
      tearDown: async () => {
        for (const { signer, network } of places) {
          await signer.close();
          await network[Symbol.asyncDispose]();
        }
        credentials.close();
        await Promise.all([aws.stop(), gcp.stop()]);
      },
    };
  },
});

/** One signature after this many idle connections died, against one on a live connection. */
function dead({ name, signer, network, delay }: Place, count: number): Pairing {
  const sign = (): Promise<unknown> => signer.sign(digest);
  return {
    name: `${name}: ${count} dead connections`,
    ours: {
      name: "after they died",
      run: async () => {
        delay(30);
        await Promise.all(Array.from({ length: count }, sign));
        delay(0);
        network.loseOpenOnes();
        return timed(sign);
      },
    },
    peer: { name: "on a live connection", run: () => timed(sign) },
    pairs: PAIRS,
    target,
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The credentials endpoint of a container. */
async function startCredentials(): Promise<{ readonly url: string; hangNext(count: number): void; close(): void }> {
  let hangs = 0;
  const server = createServer((_request, response) => {
    if (hangs > 0) return void (hangs -= 1);
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    const body = { AccessKeyId: "AKIABENCHMARKEXAMPLE", SecretAccessKey: "benchmark", Token: "benchmark", Expiration };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/credentials`,
    hangNext: (count) => {
      hangs = count;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
