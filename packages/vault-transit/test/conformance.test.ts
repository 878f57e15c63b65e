import { afterAll, describe, test } from "vitest";
import { signerChecks } from "@signpost/conformance";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startFakeVaultTransit, VAULT_TRANSIT_FAULTS } from "@signpost/test-backends/fake-vault-transit";
import { withOpenDeadline } from "./support/fault-clock.ts";

const fake = await startFakeVaultTransit();
afterAll(() => fake.stop());

const { faults, openDeadlineMs } = withOpenDeadline(fake.switches(VAULT_TRANSIT_FAULTS));
const options = { address: fake.address, key: "op", auth: { method: "token", token: fake.token } } as const;

describe("a signer on a Transit engine with every fault", () => {
  for (const check of signerChecks({
    secrets: [fake.token],
    faults,
    open: (policy) => openVaultTransitSigner({ ...options, policy, openDeadlineMs: openDeadlineMs() }),
    openWith: (limits) => openVaultTransitSigner({ ...options, ...limits }),
  })) {
    test(check.name, check.run);
  }
});
