// How long a signer takes to its next good signature after its connections died without a word, after its process was
// frozen while they did, or after the source of its credentials did not answer. The peer is the same signer with everything
// in order.
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import type { Signer } from "@signpost/core";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { type FakeAwsKms, startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { type FakeGcpKms, startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { startSilentNetwork, type SilentNetwork } from "@signpost/test-backends/silent-network";
import { type CredentialSources, type SourceName, startCredentialSources } from "./credential-sources.ts";
import { type Pairing, runBench } from "./harness.ts";
import { signerProcess, type SignerProcess } from "./signer-process.ts";
import type { SignerTask } from "./signer-program.ts";
import { startTlsFront, type TlsFront } from "./tls-front.ts";

/** Short, so that a run takes minutes. */
const POLICY = { attemptTimeoutMs: 500, deadlineMs: 20_000, maxAttempts: 8 } as const;
/** One attempt more, and the guard's first pause. */
const target = { addedMs: POLICY.attemptTimeoutMs + 50 };
const PAIRS = 12;
const digest = randomBytes(32);

/** A cloud over one of its transports. */
interface Way {
  readonly name: string;
  readonly port: number;
  /** How many connections die. gRPC has one. */
  readonly counts: readonly number[];
  task(endpoint: string): SignerTask;
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
    const sources = await startCredentialSources();
    const ways = [awsWay(aws, "sdk"), awsWay(aws, "https"), gcpWay(gcp, "grpc"), gcpWay(gcp, "rest")];
    const alive = await Promise.all(ways.map((way) => openPlace(way, awsEnvironment(aws))));
    const frozen = await Promise.all(ways.map((way) => startPlace(way, awsEnvironment(aws))));
    const hung = [...hungAws(aws, sources), ...(await hungGcp(gcp, sources))];
    return {
      pairings: [
        ...alive.flatMap((place) => place.way.counts.map((count) => dead(place, count))),
        ...frozen.flatMap((place) => [frozenWhileIdle(place), frozenInACall(place)]),
        ...hung.map(({ name, child }) => hangsOnce(name, child, sources)),
      ],
      tearDown: async () => {
        for (const { signer, network } of alive) {
          await signer.close();
          await network[Symbol.asyncDispose]();
        }
        for (const { child, network } of frozen) {
          await child.stop();
          await network[Symbol.asyncDispose]();
        }
        for (const { child, front } of hung) {
          await child.stop();
          await front?.stop();
        }
        await Promise.all([aws.stop(), gcp.stop(), sources.stop()]);
      },
    };
  },
});

function awsWay(aws: FakeAwsKms, transport: "sdk" | "https"): Way {
  const { arn } = aws.addKey();
  return {
    name: `AWS KMS, transport ${transport}`,
    port: aws.port,
    counts: [1, 4, 16],
    task: (endpoint) => ({ cloud: "aws", options: { key: arn, endpoint, transport, policy: POLICY } }),
    delay: (ms) => void (aws.faults.latencyMs = ms),
  };
}

function gcpWay(gcp: FakeGcpKms, transport: "grpc" | "rest"): Way {
  const { name: keyVersion } = gcp.addVersion();
  return {
    name: `Google Cloud KMS, transport ${transport}`,
    port: transport === "grpc" ? gcp.grpcPort : gcp.restPort,
    counts: transport === "grpc" ? [1] : [1, 4, 16],
    task: (endpoint) => ({ cloud: "gcp", options: { keyVersion, endpoint, transport, policy: POLICY } }),
    delay: (ms) => void (gcp.faults.latencyMs = ms),
  };
}

function awsEnvironment({ credentials }: FakeAwsKms): Record<string, string> {
  return { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey };
}

interface AlivePlace {
  readonly way: Way;
  readonly network: SilentNetwork;
  readonly signer: Signer;
}

/** A signer of this process. */
async function openPlace(way: Way, environment: Record<string, string>): Promise<AlivePlace> {
  Object.assign(process.env, environment);
  const network = await startSilentNetwork(way.port);
  const { cloud, options } = way.task(`http://127.0.0.1:${network.port}`);
  const signer = await (cloud === "aws" ? openAwsKmsSigner(options) : openGcpKmsSigner(options));
  return { way, network, signer };
}

interface FrozenPlace {
  readonly way: Way;
  readonly network: SilentNetwork;
  readonly child: SignerProcess;
}

/** A signer of another process. */
async function startPlace(way: Way, environment: Record<string, string>): Promise<FrozenPlace> {
  const network = await startSilentNetwork(way.port);
  return { way, network, child: signerProcess(way.task(`http://127.0.0.1:${network.port}`), environment) };
}

/** One signature after this many idle connections died, against one on a live connection. */
function dead({ way, signer, network }: AlivePlace, count: number): Pairing {
  const sign = (): Promise<unknown> => signer.sign(digest);
  return {
    name: `${way.name}: ${count} dead connections`,
    ours: {
      name: "after they died",
      run: async () => {
        way.delay(30);
        await Promise.all(Array.from({ length: count }, sign));
        way.delay(0);
        network.loseOpenOnes();
        return timed(sign);
      },
    },
    peer: { name: "on a live connection", run: () => timed(sign) },
    pairs: PAIRS,
    target,
  };
}

/** One signature of a process that was frozen while its idle connections died. */
function frozenWhileIdle({ way, network, child }: FrozenPlace): Pairing {
  const count = Math.min(4, Math.max(...way.counts));
  return {
    name: `${way.name}: frozen while ${count} connections died`,
    ours: {
      name: "after it went on",
      run: async () => {
        way.delay(30);
        await child.sign(count);
        way.delay(0);
        child.freeze();
        network.loseOpenOnes();
        await pause(200);
        child.thaw();
        return child.sign(1);
      },
    },
    peer: { name: "on a live connection", run: () => child.sign(1) },
    pairs: PAIRS,
    target,
  };
}

/** The signature during which the process was frozen and the connection died, from the moment when it goes on. */
function frozenInACall({ way, network, child }: FrozenPlace): Pairing {
  return {
    name: `${way.name}: frozen in a call, longer than an attempt may take`,
    ours: {
      name: "after it went on",
      run: async () => {
        way.delay(200);
        const signed = child.sign(1);
        await pause(100);
        child.freeze();
        network.loseOpenOnes();
        way.delay(0);
        await pause(POLICY.attemptTimeoutMs);
        child.thaw();
        return timed(() => signed);
      },
    },
    peer: { name: "on a live connection", run: () => child.sign(1) },
    pairs: PAIRS,
    target,
  };
}

interface HungPlace {
  readonly name: string;
  readonly child: SignerProcess;
  readonly front?: TlsFront;
}

function hungAws(aws: FakeAwsKms, sources: CredentialSources): HungPlace[] {
  const { arn, publicKey } = aws.addKey();
  const names: SourceName[] = ["container endpoint", "metadata service", "STS with a web identity"];
  const given = { key: arn, publicKey: publicKey?.export({ format: "jwk" }), endpoint: aws.endpoint, policy: POLICY };
  return (["sdk", "https"] as const).flatMap((transport) =>
    names.map((name) => ({
      name: `AWS KMS, transport ${transport}: ${name}`,
      child: signerProcess({ cloud: "aws", options: { ...given, transport } }, sources.environment(name)),
    })),
  );
}

/** Google's client asks for no credentials without TLS. */
async function hungGcp(gcp: FakeGcpKms, sources: CredentialSources): Promise<HungPlace[]> {
  const { name: keyVersion, publicKey } = gcp.addVersion();
  const names: SourceName[] = ["metadata server", "token endpoint"];
  const given = { keyVersion, publicKey: publicKey.export({ format: "jwk" }), policy: POLICY };
  const places = (["grpc", "rest"] as const).map(async (transport) => {
    const port = transport === "grpc" ? gcp.grpcPort : gcp.restPort;
    const front = await startTlsFront(port, transport === "grpc" ? "h2" : "http/1.1");
    const options = { ...given, endpoint: `https://localhost:${front.port}`, transport };
    return names.map((name) => ({
      name: `Google Cloud KMS, transport ${transport}: ${name}`,
      child: signerProcess({ cloud: "gcp", options }, { ...sources.environment(name), ...front.environment }),
      front,
    }));
  });
  return (await Promise.all(places)).flat();
}

/** The first signature of a new signer, whose request for credentials got no answer. */
function hangsOnce(name: string, child: SignerProcess, sources: CredentialSources): Pairing {
  return {
    name: `${name} hangs once`,
    ours: {
      name: "it hangs once",
      run: async () => {
        sources.hangNext(1);
        return child.sign("new");
      },
    },
    peer: {
      name: "it answers",
      run: async () => {
        sources.hangNext(0);
        return child.sign("new");
      },
    },
    pairs: PAIRS,
    target,
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
