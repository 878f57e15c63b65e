import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { startOpenbaoAgent } from "@signpost/test-backends/openbao-agent";
import { underLoad } from "./support/load.ts";
import { createAppRole, createKey, opPolicy, writePolicy } from "./support/server.ts";

test("an agent adds its token, and writes it to a file, over the end of its token", async () => {
  await using server = await startOpenbao();
  await createKey(server, "transit/keys/op");
  await writePolicy(server, "op", opPolicy());
  await server.must("POST", "sys/auth/approle", { type: "approle" });
  const role = await createAppRole(server, "op", { token_ttl: "2s", token_max_ttl: "3s" });
  await using agent = await startOpenbaoAgent({ address: server.address, ...role });
  const firstToken = await readFile(agent.sinkFile, "utf8");

  await using through = await openVaultTransitSigner({ address: agent.address, key: "op", auth: { method: "none" } });
  const auth = { method: "token-file", path: agent.sinkFile } as const;
  await using direct = await openVaultTransitSigner({ address: server.address, key: "op", auth });
  const loads = await Promise.all([through, direct].map((signer) => underLoad(signer, 1, () => delay(4500))));

  expect(await readFile(agent.sinkFile, "utf8")).not.toBe(firstToken);
  for (const { signed, errors, wrong } of loads) {
    expect(errors).toEqual([]);
    expect(wrong).toBe(0);
    expect(signed).toBeGreaterThan(5);
  }
});
