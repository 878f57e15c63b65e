import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { underLoad } from "./support/load.ts";
import { countLogins, createAppRole, createKey, createToken, opPolicy, writePolicy } from "./support/server.ts";

const SECONDS = 60;

// The short form of this is in life.openbao.test.ts.
test("tokens of 4 s end in the middle of a load of a minute, and no call fails", { timeout: 120_000 }, async () => {
  await using server = await startOpenbao();
  await createKey(server, "transit/keys/op");
  await writePolicy(server, "op", opPolicy());
  await server.must("POST", "sys/auth/approle", { type: "approle" });
  const renewed = await createAppRole(server, "op", { token_ttl: "4s", token_max_ttl: "14s" });
  const token = await createToken(server, "op", { period: "4s" });
  // These cannot be renewed.
  await writePolicy(server, "batch", opPolicy());
  const batch = await createAppRole(server, "batch", { token_ttl: "4s", token_type: "batch" });
  const loads = [renewed, batch, { method: "token", token } as const].map(async (auth) => {
    await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth });
    return await underLoad(signer, 4, () => delay(SECONDS * 1000));
  });
  for (const { signed, errors, wrong } of await Promise.all(loads)) {
    expect(errors).toEqual([]);
    expect(wrong).toBe(0);
    expect(signed).toBeGreaterThan(1000);
  }
  expect(await countLogins(server)).toBe(0);
});
