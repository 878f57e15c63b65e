import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, vi } from "vitest";
import type { GuardedSigner, GuardPolicy, Signer } from "@signpost/core";
import { openVaultTransitSigner, type VaultTransitAuth } from "@signpost/vault-transit";
import { startFakeVaultTransit, type FakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { acceptLogins, type FakeLogins } from "./fake-logins.ts";

export const DIGEST: Uint8Array = new Uint8Array(32).fill(7);
export const APPROLE = { method: "approle", roleId: "the-role-id", secretId: "the-secret-id" } as const;
export const LOGIN = "auth/approle/login";
export const RENEW = "auth/token/renew-self";
export const REVOKE = "auth/token/revoke-self";

/** What the tests of tokens share: a fake that accepts logins, and a folder for files with secrets. */
export interface AuthFixture {
  readonly fake: FakeVaultTransit;
  readonly logins: FakeLogins;
  readonly folder: string;
  /** Opens a signer that is closed after the test. */
  open(auth: VaultTransitAuth, policy?: GuardPolicy | false): Promise<Signer>;
  /** Opens one that the test closes. */
  openGuarded(auth: VaultTransitAuth): Promise<GuardedSigner>;
  /** The paths about tokens that were called, in order of arrival. */
  tokenPaths(): readonly string[];
  /** Waits until these were called first, in this order. */
  expectPaths(...paths: readonly string[]): Promise<void>;
}

/** Called once at the top of a file. */
export async function startAuthFixture(): Promise<AuthFixture> {
  const fake = await startFakeVaultTransit();
  const logins = acceptLogins(fake);
  const folder = await mkdtemp(join(tmpdir(), "signpost-vault-auth-"));
  const opened: Signer[] = [];
  beforeEach(() => {
    fake.reset();
    logins.reset();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await Promise.all(opened.splice(0).map((signer) => signer.close()));
  });
  afterAll(async () => {
    await fake.stop();
    await rm(folder, { recursive: true });
  });
  const tokenPaths = (): readonly string[] =>
    fake.requests.map(({ path }) => path).filter((path) => path.startsWith("auth/"));
  return {
    fake,
    logins,
    folder,
    open: async (auth, policy = false) => {
      const signer = await openVaultTransitSigner({ address: fake.address, key: "op", auth, policy });
      opened.push(signer);
      return signer;
    },
    openGuarded: (auth) => openVaultTransitSigner({ address: fake.address, key: "op", auth, policy: {} }),
    tokenPaths,
    expectPaths: (...paths) =>
      vi.waitFor(() => expect(tokenPaths().slice(0, paths.length)).toEqual(paths), { timeout: 5000, interval: 5 }),
  };
}
