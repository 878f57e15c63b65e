import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent } from "undici";
import { createKeySet, signJwt } from "@signpost/core";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { CLAIMS } from "./claims.ts";
import { delayedService } from "./delayed-service.ts";
import { makeHot, runBench } from "./harness.ts";
import { latencyRows, POLICY, type SdkSides, signatureRow, throughputRows } from "./sdk-rows.ts";
import type { ServerReady } from "./vault-transit-server.ts";

/** Calls of each side before the first row, with no delay in the service. */
const WARM_UP_OPERATIONS = 2_000;

await runBench({
  name: "vault-transit",
  title: "Latency, processor time and throughput of a guarded Vault signer against a bare undici call",
  packages: ["@signpost/vault-transit", "undici"],
  setUp: async () => {
    const server = fork(new URL("./vault-transit-server.js", import.meta.url));
    const [{ address, token }] = (await once(server, "message")) as [ServerReady];
    const digest = randomBytes(32);
    // As many connections as ours.
    const agent = new Agent({ connections: POLICY.concurrency });
    const input = { input: digest.toString("base64"), prehashed: true, marshaling_algorithm: "asn1", key_version: 1 };
    const request = {
      origin: address,
      path: "/v1/transit/sign/op/sha2-256",
      method: "POST",
      headers: { "x-vault-token": token, "x-vault-request": "true", "content-type": "application/json" },
    } as const;
    const call = async (signal?: AbortSignal): Promise<unknown> => {
      const { body } = await agent.request({ ...request, body: JSON.stringify(input), signal });
      return body.json();
    };
    const auth = { method: "token", token: () => token } as const;
    const signer = await openVaultTransitSigner({ address, key: "op", auth, policy: POLICY });
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
