import { afterAll, afterEach, vi } from "vitest";
import type { GuardPolicy, Signer } from "@signpost/core";
import { openAzureKeyVaultSigner, type AzureKeyVaultSignerOptions } from "@signpost/azure-key-vault";
import { startFakeAzureKeyVault, type FakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";

export const DIGEST: Uint8Array = new Uint8Array(32).fill(7);

/** For what is not about time: generous, so that a busy machine changes no result. */
export const STEADY: GuardPolicy = { deadlineMs: 60_000, attemptTimeoutMs: 20_000 };

/** What the tests of a file share: a fake, and a dispatcher that reaches it under any host. */
export interface VaultFixture {
  readonly fake: FakeAzureKeyVault;
  /** Options for the key `op` in `https://op.vault.azure.net`, which the fake answers for. */
  readonly options: Pick<AzureKeyVaultSignerOptions, "vault" | "key" | "credential" | "dispatcher">;
  /** Opens a bare signer that is closed after the test. */
  open(options?: Partial<AzureKeyVaultSignerOptions>): Promise<Signer>;
  /** How many requests of this kind have arrived. */
  count(kind: "read" | "sign" | "list"): number;
}

/** Called once at the top of a file. */
export async function startVaultFixture(): Promise<VaultFixture> {
  const fake = await startFakeAzureKeyVault();
  const dispatcher = fake.dispatcher();
  const opened: Signer[] = [];
  afterEach(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    await Promise.all(opened.splice(0).map((signer) => signer.close()));
    fake.reset();
  });
  afterAll(async () => {
    await dispatcher.destroy();
    await fake.stop();
  });
  const { credential } = fake.entra;
  const options = { vault: "https://op.vault.azure.net", key: "op", credential, dispatcher } as const;
  const kindOf = (path: string): string => {
    if (path.endsWith("/sign")) return "sign";
    return path.endsWith("/versions") ? "list" : "read";
  };
  return {
    fake,
    options,
    open: async (others = {}) => {
      const signer = await openAzureKeyVaultSigner({ ...options, policy: false, ...others });
      opened.push(signer);
      return signer;
    },
    count: (kind) => fake.requests.filter(({ path }) => kindOf(path) === kind).length,
  };
}
