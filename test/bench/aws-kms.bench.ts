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
/** Of each side before the first row, the service answering at once. */
const WARM_UP_OPERATIONS = 2_000;

await runBench({
  name: "aws-kms",
  title: "Latency, processor time and throughput of a guarded AWS KMS signer beside the SDK called bare",
  packages: ["@signpost/aws-kms", "@aws-sdk/client-kms"],
  setUp: async () => {
    const server = fork(new URL("./aws-kms-server.js", import.meta.url));
    const [{ endpoint, region, keyArn }] = (await once(server, "message")) as [ServerReady];
    // Our own client finds its credentials where the SDK looks.
    process.env["AWS_ACCESS_KEY_ID"] = credentials.accessKeyId;
    process.env["AWS_SECRET_ACCESS_KEY"] = credentials.secretAccessKey;
    // As quick as the SDK can be made, and with as many connections as ours.
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
    // Any option keeps the SDK from using the middleware that it has composed already.
    const abortable = (): Promise<unknown> =>
      client.send(new SignCommand(input), { abortSignal: new AbortController().signal });
    const ofGiven = (): Promise<unknown> => given.sign(digest);
    await makeHot(WARM_UP_OPERATIONS, [sides.signer, sides.token, sides.bare, abortable, ofGiven]);

    const service = delayedService(server);
    const besideAbortable = {
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
        signatureRow(service, "beside a call that can be aborted", 0, besideAbortable),
        signatureRow(service, "beside a call that can be aborted", 25, besideAbortable),
        signatureRow(service, "on a client of the caller's", 0, onGiven),
        signatureRow(service, "on a client of the caller's", 25, onGiven),
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
