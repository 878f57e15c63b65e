import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { createKeySet, signJwt } from "@signpost/core";
import { connectGcpKmsClient } from "@signpost/test-backends/fake-gcp-kms-client";
import type { ServerReady } from "./gcp-kms-server.ts";
import { CLAIMS } from "./claims.ts";
import { crc32c } from "./crc32c.ts";
import { delayedService } from "./delayed-service.ts";
import { makeHot, runBench } from "./harness.ts";
import { latencyRows, POLICY, type SdkSides, signatureRow, throughputRows } from "./sdk-rows.ts";

/** Calls of each side before the first row, with no delay in the service. */
const WARM_UP_OPERATIONS = 2_000;
/** For the guard and the checks of one signature, without what the signal costs in the client. Milliseconds. */
const CHECKS_CPU_TARGET_MS = 0.03;

/** The status CANCELLED of gRPC. */
const CANCELLED = 1;

await runBench({
  name: "gcp-kms",
  title: "Latency, processor time and throughput of a guarded Cloud KMS signer against the bare client",
  packages: ["@signpost/gcp-kms", "@google-cloud/kms"],
  setUp: async () => {
    const server = fork(new URL("./gcp-kms-server.js", import.meta.url));
    const [ready] = (await once(server, "message")) as [ServerReady];
    const { keyVersion } = ready;
    const digest = randomBytes(32);
    const request = { name: keyVersion, digest: { sha256: digest } };

    /** Both sides share one client and its connection. */
    const open = async (
      transport: "grpc" | "rest",
    ): Promise<{
      sides: SdkSides;
      abortable: SdkSides["bare"];
      byHand: () => Promise<unknown>;
      close: () => Promise<unknown>;
    }> => {
      const client = connectGcpKmsClient(ready, transport);
      const signer = await openGcpKmsSigner({ keyVersion, client, policy: POLICY });
      const keys = createKeySet([{ signer }]);
      const options = { timeout: POLICY.attemptTimeoutMs, retry: null };
      const sides: SdkSides = {
        signer: () => signer.sign(digest),
        token: () => signJwt(keys, CLAIMS),
        bare: () => client.asymmetricSign(request, options),
        bareName: "asymmetricSign of the client",
      };
      const abortable = (): Promise<unknown> =>
        client.asymmetricSign(request, { ...options, signal: new AbortController().signal });
      const byHand = (): Promise<Uint8Array> =>
        new Promise((resolve, reject) => {
          let call: GrpcCall | undefined;
          const timer = setTimeout(() => call?.cancelWithStatus(CANCELLED, "too late"), POLICY.attemptTimeoutMs);
          const intercept = (callOptions: object, start: (callOptions: object) => GrpcCall): GrpcCall => {
            call = start(callOptions);
            return call;
          };
          const otherArgs = { options: { interceptors: [intercept] } };
          const digestCrc32c = { value: crc32c(digest) };
          client
            .asymmetricSign({ ...request, digestCrc32c }, { ...options, otherArgs })
            .then(([answer]) => resolve(checkedByHand(answer, keyVersion)))
            .catch(reject)
            .finally(() => clearTimeout(timer));
        });
      const hot = [sides.signer, sides.token, sides.bare, abortable, ...(transport === "grpc" ? [byHand] : [])];
      await makeHot(WARM_UP_OPERATIONS, hot);
      const close = async (): Promise<void> => {
        await signer.close();
        await client.close();
      };
      return { sides, abortable, byHand, close };
    };
    const grpc = await open("grpc");
    const rest = await open("rest");

    const service = delayedService(server);
    const againstAbortable = {
      ours: "guarded signer",
      signer: grpc.sides.signer,
      peer: "asymmetricSign with an AbortSignal",
      bare: grpc.abortable,
    };
    const least = {
      ours: "the same call, with CRC32C both ways, a timer and an interceptor",
      signer: grpc.byHand,
      peer: grpc.sides.bareName,
      bare: grpc.sides.bare,
    };
    const overRest = {
      ours: "guarded signer",
      signer: rest.sides.signer,
      peer: rest.sides.bareName,
      bare: rest.sides.bare,
    };
    return {
      pairings: [
        ...latencyRows(service, grpc.sides),
        {
          ...signatureRow(service, "against a call that can be aborted", 0, againstAbortable),
          target: { addedMs: 0.2, addedCpuMs: CHECKS_CPU_TARGET_MS },
        },
        signatureRow(service, "against a call that can be aborted", 25, againstAbortable),
        { ...signatureRow(service, "the checks and a time limit, by hand", 0, least), target: {} },
        signatureRow(service, "over REST", 0, overRest),
        signatureRow(service, "over REST", 25, overRest),
        ...throughputRows(service, grpc.sides),
      ],
      tearDown: async () => {
        await Promise.all([grpc.close(), rest.close()]);
        server.disconnect();
        await once(server, "exit");
      },
    };
  },
});

/** A started call of grpc-js. */
interface GrpcCall {
  cancelWithStatus(status: number, details: string): void;
}

/** What is checked of an answer. */
interface SignAnswer {
  readonly name?: unknown;
  readonly signature?: unknown;
  readonly signatureCrc32c?: { readonly value?: unknown } | null;
  readonly verifiedDigestCrc32c?: unknown;
}

/** https://cloud.google.com/kms/docs/data-integrity-guidelines */
function checkedByHand(
  { name, signature, signatureCrc32c, verifiedDigestCrc32c }: SignAnswer,
  keyVersion: string,
): Uint8Array {
  const isComplete =
    name === keyVersion &&
    verifiedDigestCrc32c === true &&
    signature instanceof Uint8Array &&
    Number(signatureCrc32c?.value) === crc32c(signature);
  if (!isComplete) throw new Error("the answer is damaged");
  return signature;
}
