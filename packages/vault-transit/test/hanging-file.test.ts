import type * as promises from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { openVaultTransitSigner, vaultTransitKeys } from "@signpost/vault-transit";

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  return { ...real, stat: vi.fn<typeof promises.stat>(() => new Promise<never>(() => {})) };
});

const options = {
  address: "https://127.0.0.1:1",
  key: "op",
  auth: { method: "none" },
  tls: { caFile: "/mnt/away/ca.pem" },
} as const;

test.each([
  ["a signer", openVaultTransitSigner],
  ["the keys", vaultTransitKeys],
])("a file for TLS on a file system that hangs keeps %s for no longer than the deadline", async (_what, open) => {
  const late = open({ ...options, openDeadlineMs: 50 });
  await expect(late).rejects.toMatchObject({ code: "timeout", uri: "vault:///transit/keys/op" });
  const given = open({ ...options, signal: AbortSignal.timeout(50) });
  await expect(given).rejects.toMatchObject({ name: "SignerError", code: "aborted" });
});
