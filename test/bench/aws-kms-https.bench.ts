import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { KMSClient, SignCommand } from "@aws-sdk/client-kms";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { kmsOverHttps } from "@signpost/aws-kms/https";
import { createKeySet, signJwt } from "@signpost/core";
import type { ServerReady } from "./aws-kms-server.ts";
import { CLAIMS } from "./claims.ts";
import { delayedService } from "./delayed-service.ts";
import { concurrently, type Contender, makeHot, type Pairing, runBench, sequentially } from "./harness.ts";
import { plainPost } from "./plain-post.ts";
import { POLICY } from "./sdk-rows.ts";
import { starting } from "./start-process.ts";
import type { StartTask } from "./start-program.ts";

const credentials = { accessKeyId: "AKIABENCHMARKEXAMPLE", secretAccessKey: "benchmark" };
/** Calls of each side before the first row, with no delay in the service. */
const WARM_UP_OPERATIONS = 2_000;
const SDK = "SignCommand of the SDK";
const PLAIN = "POST of node:http";

type Call = () => Promise<unknown>;

await runBench({
  name: "aws-kms-https",
  title: "The HTTPS transport of AWS KMS against the bare SDK: processor time, throughput and cold start",
  packages: ["@signpost/aws-kms", "@aws-sdk/client-kms"],
  setUp: async () => {
    const server = fork(new URL("./aws-kms-server.js", import.meta.url));
    const [{ endpoint, region, keyArn }] = (await once(server, "message")) as [ServerReady];
    process.env["AWS_ACCESS_KEY_ID"] = credentials.accessKeyId;
    process.env["AWS_SECRET_ACCESS_KEY"] = credentials.secretAccessKey;
    // The fastest setting of the SDK, with as many connections as ours.
    const requestHandler = { httpAgent: { keepAlive: true, maxSockets: POLICY.concurrency } };
    const settings = { endpoint, region, credentials, maxAttempts: 1, cacheMiddleware: true };
    const client = new KMSClient({ ...settings, requestHandler });
    const byDefault = new KMSClient({ endpoint, region, credentials });
    const api = kmsOverHttps({ endpoint, region, maxSockets: POLICY.concurrency, timeoutMs: POLICY.attemptTimeoutMs });
    const signer = await openAwsKmsSigner({ key: keyArn, endpoint, transport: "https", policy: POLICY });

    const digest = randomBytes(32);
    const input = { KeyId: keyArn, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
    const keys = createKeySet([{ signer }]);
    const bare: Call = () => client.send(new SignCommand(input));
    const defaults: Call = () => byDefault.send(new SignCommand(input));
    const ours: Call = () => api.sign(input, {});
    const token: Call = () => signJwt(keys, CLAIMS);
    const plain = plainPost(endpoint, keyArn, digest);
    await makeHot(WARM_UP_OPERATIONS, [bare, defaults, ours, token, plain.send]);

    const service = delayedService(server);
    const cpu = (name: string, run: typeof sequentially, call: Call, what: string): Pairing => ({
      name: `service of 0 ms, ${name}`,
      ours: { name: what, run: service.withDelay(0, run(call)) },
      peer: { name: SDK, run: service.withDelay(0, run(bare)) },
      operations: 256,
      pairs: 30,
      target: { cpuRatio: 0.3 },
    });
    const { target: _none, ...plainRow } = cpu("one after another, node:http alone", sequentially, plain.send, PLAIN);
    const throughput = (concurrency: number, target: Pairing["target"]): Pairing => ({
      name: `service of 25 ms, ${concurrency} at once`,
      ours: { name: "kmsOverHttps", run: service.withDelay(25, concurrently(concurrency, ours)) },
      peer: { name: SDK, run: service.withDelay(25, concurrently(concurrency, bare)) },
      operations: 4 * concurrency,
      pairs: 20,
      idealMs: 25 / concurrency,
      target,
    });
    const sign = { task: "sign", endpoint, region, keyArn } as const;
    const withoutDelay = ({ name, run }: Contender): Contender => ({ name, run: service.withDelay(0, run) });
    const cold = (name: string, task: StartTask): Pairing => ({
      name: `first signature of a process, ${name}`,
      ours: withoutDelay(starting("openAwsKmsSigner over HTTPS", task)),
      peer: withoutDelay(starting(SDK, { ...sign, by: "sdk" })),
      pairs: 12,
      target: { ratio: 0.4 },
    });
    const tokens = (name: string, run: typeof sequentially, operations: number, pairs: number): Pairing => ({
      name: `service of 25 ms, ${name}`,
      ours: { name: "signJwt over HTTPS, each verified", run: service.withDelay(25, run(token)) },
      peer: { name: SDK, run: service.withDelay(25, run(bare)) },
      operations,
      pairs,
      target: {},
    });
    return {
      pairings: [
        tokens("token", sequentially, 1, 100),
        ...[1, 4, 16, 64, 256].map((crowd) =>
          tokens(`tokens, ${crowd} at once`, (call) => concurrently(crowd, call), 3 * crowd, 14),
        ),
        cpu("one after another", sequentially, ours, "kmsOverHttps"),
        { ...plainRow, showsCpuRatio: true },
        {
          ...cpu("one after another, against the SDK's default settings", sequentially, ours, "kmsOverHttps"),
          peer: { name: "SignCommand of the SDK, default settings", run: service.withDelay(0, sequentially(defaults)) },
        },
        cpu("64 at once", (call) => concurrently(64, call), ours, "kmsOverHttps"),
        { ...cpu("64 at once, tokens", (call) => concurrently(64, call), token, "signJwt, each verified"), target: {} },
        throughput(1, {}),
        throughput(64, {}),
        // 2.5 times the throughput.
        throughput(256, { ratio: 0.4 }),
        cold("public key fetched", { ...sign, by: "signer over https" }),
        cold("public key pinned", { ...sign, by: "signer over https", publicKey: { ...signer.publicKey } }),
      ],
      tearDown: async () => {
        await Promise.all([signer.close(), api.close()]);
        client.destroy();
        byDefault.destroy();
        plain.close();
        server.disconnect();
        await once(server, "exit");
      },
    };
  },
});
