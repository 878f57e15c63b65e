import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { KMSClient, SignCommand } from "@aws-sdk/client-kms";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { createKeySet, signJwt } from "@signpost/core";
import type { ServerReady } from "./aws-kms-server.ts";
import { CLAIMS } from "./claims.ts";
import { delayedService } from "./delayed-service.ts";
import { makeHot, runBench } from "./harness.ts";
import { latencyRows, POLICY, type SdkSides, signatureRow, throughputRows } from "./sdk-rows.ts";

const credentials = { accessKeyId: "AKIABENCHMARKEXAMPLE", secretAccessKey: "benchmark" };
/** Calls of each side before the first row, with no delay in the service. */
const WARM_UP_OPERATIONS = 2_000;

await runBench({
  name: "aws-kms",
  title: "Latency, processor time and throughput of a guarded AWS KMS signer against the bare SDK",
  packages: ["@signpost/aws-kms", "@aws-sdk/client-kms"],
  setUp: async () => {
    const server = fork(new URL("./aws-kms-server.js", import.meta.url));
    const [{ endpoint, region, keyArn }] = (await once(server, "message")) as [ServerReady];
    // Our own client finds its credentials in the same place as the SDK.
    process.env["AWS_ACCESS_KEY_ID"] = credentials.accessKeyId;
    process.env["AWS_SECRET_ACCESS_KEY"] = credentials.secretAccessKey;
    // The fastest setting of the SDK, with as many connections as ours.
    const requestHandler = { httpAgent: { keepAlive: true, maxSockets: POLICY.concurrency } };
    const client = new KMSClient({
      endpoint,
      region,
      credentials,
      maxAttempts: 1,
      cacheMiddleware: true,
      requestHandler,
    });
    const own = await openAwsKmsSigner({ key: keyArn, endpoint, policy: POLICY });
    const given = await openAwsKmsSigner({ key: keyArn, client, policy: POLICY });

    const digest = randomBytes(32);
    const input = { KeyId: keyArn, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
    const keys = createKeySet([{ signer: own }]);
    const sides: SdkSides = {
      signer: () => own.sign(digest),
      token: () => signJwt(keys, CLAIMS),
      bare: () => client.send(new SignCommand(input)),
      bareName: "SignCommand of the SDK",
    };
    // With any option, the SDK does not use the middleware that it has already composed.
    const abortable = (): Promise<unknown> =>
      client.send(new SignCommand(input), { abortSignal: new AbortController().signal });
    const ofGiven = (): Promise<unknown> => given.sign(digest);
    await makeHot(WARM_UP_OPERATIONS, [sides.signer, sides.token, sides.bare, abortable, ofGiven]);

    const service = delayedService(server);
    const againstAbortable = {
      ours: "guarded signer",
      signer: sides.signer,
      peer: "SignCommand with an AbortSignal",
      bare: abortable,
    };
    const onGiven = {
      ours: "guarded signer on that client",
      signer: ofGiven,
      peer: sides.bareName,
      bare: sides.bare,
    };
    return {
      pairings: [
        ...latencyRows(service, sides),
        signatureRow(service, "against a call that can be aborted", 0, againstAbortable),
        signatureRow(service, "against a call that can be aborted", 25, againstAbortable),
        signatureRow(service, "on the caller's own client", 0, onGiven),
        signatureRow(service, "on the caller's own client", 25, onGiven),
        ...throughputRows(service, sides),
      ],
      tearDown: async () => {
        await Promise.all([own.close(), given.close()]);
        client.destroy();
        server.disconnect();
        await once(server, "exit");
      },
    };
  },
});
