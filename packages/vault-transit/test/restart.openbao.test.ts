import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { underLoad } from "./support/load.ts";
import { createAppRole, createKey, opPolicy, writePolicy } from "./support/server.ts";

const CALLERS = 8;

describe("a server with raft and a static seal", () => {
  test("crashes and restarts in the middle of a load, and nothing is lost that the deadline covers", async () => {
    await using server = await startOpenbao({ storage: "raft" });
    await createKey(server, "transit/keys/op");
    await writePolicy(server, "op", opPolicy());
    await server.must("POST", "sys/auth/approle", { type: "approle" });
    const auth = await createAppRole(server, "op", { token_ttl: "1h" });
    const policy = { deadlineMs: 20_000, maxAttempts: 100 };
    await using signer = await openVaultTransitSigner({ address: server.address, key: "op", auth, policy });
    const { signed, errors, wrong } = await underLoad(signer, CALLERS, async () => {
      await delay(200);
      await server.kill();
      await delay(100);
      await server.restart();
      await delay(300);
    });
    expect(errors).toEqual([]);
    expect(wrong).toBe(0);
    expect(signed).toBeGreaterThan(8);
  });
});
