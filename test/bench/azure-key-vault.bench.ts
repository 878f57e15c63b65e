import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent } from "undici";
import { createKeySet, createLimiter, signJwt } from "@signpost/core";
import { openAzureKeyVaultSigner } from "@signpost/azure-key-vault";
import { CLAIMS } from "./claims.ts";
import { delayedService } from "./delayed-service.ts";
import { makeHot, runBench } from "./harness.ts";
import { latencyRows, POLICY, type SdkSides, signatureRow, throughputRows } from "./sdk-rows.ts";
import type { ServerReady } from "./azure-key-vault-server.ts";

/** Calls of each side before the first row, with no delay in the service. */
const WARM_UP_OPERATIONS = 2_000;

await runBench({
  name: "azure-key-vault",
  title: "Latency, processor time and throughput of a guarded Azure Key Vault signer against a bare undici call",
  packages: ["@signpost/azure-key-vault", "undici"],
  setUp: async () => {
    const server = fork(new URL("./azure-key-vault-server.js", import.meta.url));
    const [{ url, caFile, token, keyVersion }] = (await once(server, "message")) as [ServerReady];
    const digest = randomBytes(32);
    const { concurrency, ...others } = POLICY;
    // As many connections as ours, over TLS too.
    const agent = new Agent({ connections: concurrency, connect: { ca: await readFile(caFile, "utf8") } });
    const input = { alg: "ES256", value: digest.toString("base64url") };
    const request = {
      origin: url,
      path: `/keys/op/${keyVersion}/sign?api-version=2025-07-01`,
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    } as const;
    const call = async (signal?: AbortSignal): Promise<unknown> => {
      const { body } = await agent.request({ ...request, body: JSON.stringify(input), signal });
      return body.json();
    };
    // The rate of a vault is no subject here.
    const policy = { ...others, limiter: createLimiter({ concurrency, maxQueue: 1000 }) };
    const signer = await openAzureKeyVaultSigner({
      vault: url,
      key: "op",
      scope: "https://127.0.0.1/.default",
      credential: () => token,
      tls: { caFile },
      policy,
    });
    const keys = createKeySet([{ signer }]);
    const sides: SdkSides = {
      signer: () => signer.sign(digest),
      token: () => signJwt(keys, CLAIMS),
      bare: () => call(),
      bareName: "request of undici",
    };
    const abortable = (): Promise<unknown> => call(new AbortController().signal);
    await makeHot(WARM_UP_OPERATIONS, [sides.signer, sides.token, sides.bare, abortable]);

    const service = delayedService(server);
    const againstAbortable = {
      ours: "guarded signer",
      signer: sides.signer,
      peer: "request with an AbortSignal",
      bare: abortable,
    };
    return {
      pairings: [
        ...latencyRows(service, sides),
        signatureRow(service, "against a call that can be aborted", 0, againstAbortable),
        signatureRow(service, "against a call that can be aborted", 25, againstAbortable),
        ...throughputRows(service, sides),
      ],
      tearDown: async () => {
        await signer.close();
        await agent.close();
        server.disconnect();
        await once(server, "exit");
      },
    };
  },
});
