import type * as promises from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { azureKeyVaultKeys, openAzureKeyVaultSigner } from "@signpost/azure-key-vault";

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  return { ...real, stat: vi.fn<typeof promises.stat>(() => new Promise<never>(() => {})) };
});

const options = {
  key: "https://op.vault.azure.net/keys/op",
  credential: () => "a-token",
  tls: { caFile: "/mnt/away/ca.pem" },
};

test.each([
  ["a signer", openAzureKeyVaultSigner],
  ["the keys", azureKeyVaultKeys],
])("a file for TLS on a file system that hangs keeps %s for no longer than the deadline", async (_what, open) => {
  const late = open({ ...options, openDeadlineMs: 50 });
  await expect(late).rejects.toMatchObject({ code: "timeout", uri: "azurekms:///op.vault.azure.net/keys/op" });
  const given = open({ ...options, signal: AbortSignal.timeout(50) });
  await expect(given).rejects.toMatchObject({ name: "SignerError", code: "aborted" });
});
