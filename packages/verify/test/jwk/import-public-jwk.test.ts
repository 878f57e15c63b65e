import { openLocalSigner } from "@signpost/local";
import { createOwnKeySet, createStaticKeySet } from "@signpost/verify";
import type { KeyFunction } from "@signpost/verify";
import { importJWK } from "jose/key/import";
import { expect, it, vi } from "vitest";
import { testKey } from "../support/keys.ts";

// jose is loaded with the first key, which fails for a moment where no file can be opened (EMFILE).

vi.mock("jose/key/import", async (original) => {
  const jose = await original<typeof import("jose/key/import")>();
  return { importJWK: vi.fn<typeof jose.importJWK>(jose.importJWK) };
});

const sets: readonly (readonly [name: string, make: () => Promise<KeyFunction>])[] = [
  ["a set of the OP's own keys", async () => createOwnKeySet([{ keyId: "k", signer: await openLocalSigner() }])],
  ["a set of a client", async () => createStaticKeySet({ keys: [testKey("k").jwk] })],
];

it.each(sets)("imports a key again after it failed: %s", async (_name, make) => {
  const keyFunction = await make();
  const header = { alg: "ES256", kid: "k" };
  const emfile = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  vi.mocked(importJWK).mockClear().mockRejectedValueOnce(emfile);
  const both = await Promise.allSettled([keyFunction(header), keyFunction(header)]);
  expect(both).toEqual([emfile, emfile].map((reason: unknown) => ({ status: "rejected", reason })));
  await expect(keyFunction(header)).resolves.toMatchObject({ type: "public" });
  await keyFunction(header);
  expect(importJWK).toHaveBeenCalledTimes(2);
});
