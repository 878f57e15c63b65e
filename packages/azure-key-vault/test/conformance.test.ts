import { afterAll, describe, test } from "vitest";
import { createLimiter, type GuardPolicy } from "@signpost/core";
import { signerChecks } from "@signpost/conformance";
import { openAzureKeyVaultSigner } from "@signpost/azure-key-vault";
import { AZURE_KEY_VAULT_FAULTS, startFakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { withOpenDeadline } from "./support/fault-clock.ts";

const fake = await startFakeAzureKeyVault();
afterAll(() => fake.stop());

const { faults, openDeadlineMs } = withOpenDeadline(fake.switches(AZURE_KEY_VAULT_FAULTS));
const options = {
  vault: fake.url,
  key: "op",
  credential: fake.entra.credential,
  tls: { caFile: fake.caFile },
} as const;

/** The checks sign more often than a vault allows. */
function withoutRate(policy: GuardPolicy | false | undefined): GuardPolicy | false {
  if (policy === false) return false;
  const { concurrency = 16, maxQueue = 1000, ...others } = policy ?? {};
  return { ...others, limiter: createLimiter({ concurrency, maxQueue }) };
}

describe("a signer on a vault with every fault", () => {
  for (const check of signerChecks({
    secrets: ["fake-token-"],
    faults,
    open: (policy) =>
      openAzureKeyVaultSigner({ ...options, policy: withoutRate(policy), openDeadlineMs: openDeadlineMs() }),
    openWith: ({ policy, ...limits }) =>
      openAzureKeyVaultSigner({ ...options, ...limits, policy: withoutRate(policy) }),
  })) {
    test(check.name, check.run);
  }
});
