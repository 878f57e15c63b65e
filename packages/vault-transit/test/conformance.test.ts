import { afterAll, describe, test } from "vitest";
import { signerChecks, type SignerHarness } from "@signpost/conformance";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startFakeVaultTransit, VAULT_TRANSIT_FAULTS } from "@signpost/test-backends/fake-vault-transit";

const fake = await startFakeVaultTransit();
afterAll(() => fake.stop());

/** How long opening may try while a fault is on, which does not pass. Milliseconds. */
const FAULTY_OPEN_MS = 300;
/** And while none is, so that a busy machine changes no result. Milliseconds. */
const OPEN_MS = 10_000;

let isFaulty = false;
const faults: NonNullable<SignerHarness["faults"]> = Object.fromEntries(
  Object.entries(fake.switches(VAULT_TRANSIT_FAULTS)).map(([fault, toggle]) => [
    fault,
    (on: boolean) => {
      isFaulty = on;
      return toggle(on);
    },
  ]),
);

describe("a signer on a Transit engine with every fault", () => {
  for (const check of signerChecks({
    secrets: [fake.token],
    faults,
    open: (policy) =>
      openVaultTransitSigner({
        address: fake.address,
        key: "op",
        auth: { method: "token", token: fake.token },
        policy,
        openDeadlineMs: isFaulty ? FAULTY_OPEN_MS : OPEN_MS,
      }),
  })) {
    test(check.name, check.run);
  }
});
