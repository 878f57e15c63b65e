import { afterAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { withOpenDeadline } from "./support/fault-clock.ts";
import { createAppRole, createKey, opPolicy, writePolicy } from "./support/server.ts";

const server = await startOpenbao();
await createKey(server, "transit/keys/op");
await writePolicy(server, "op", opPolicy());
await server.must("POST", "sys/auth/approle", { type: "approle" });
const auth = await createAppRole(server, "op", { token_ttl: "1h" });
afterAll(() => server.stop());

const { faults, openDeadlineMs } = withOpenDeadline({
  unavailable: async (on) => (on ? server.seal() : server.unseal()),
  hang: async (on) => (on ? server.freeze() : server.thaw()),
  throttle: async (on) => {
    if (!on) return void (await server.must("DELETE", "sys/quotas/rate-limit/all"));
    await server.must("POST", "sys/quotas/rate-limit/all", { path: "transit", rate: 1, interval: "1h" });
    // Uses up the one call that is allowed.
    await server.call("GET", "transit/keys/op");
  },
  "access-denied": (on) => writePolicy(server, "op", opPolicy("transit", on ? "another" : "op")),
  "key-disabled": async (on) => {
    await (on
      ? server.must("DELETE", "transit/keys/op/soft-delete")
      : server.must("POST", "transit/keys/op/soft-delete-restore"));
  },
});

describe("a signer on OpenBao", () => {
  for (const check of signerChecks({
    secrets: [auth.secretId],
    faults,
    open: (policy) =>
      openVaultTransitSigner({ address: server.address, key: "op", auth, policy, openDeadlineMs: openDeadlineMs() }),
    openWith: (limits) => openVaultTransitSigner({ address: server.address, key: "op", auth, ...limits }),
  })) {
    test(check.name, check.run);
  }
});
