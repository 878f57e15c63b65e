import { createPublicKey, randomBytes, verify } from "node:crypto";
import type { GuardedSigner, Signer } from "@signpost/core";
import type { Pkcs11Shim, ShimFunction } from "@signpost/test-backends/pkcs11-shim";
import type { ShimmedToken } from "./shimmed-token.ts";
import { type GuardedOptions, outcome, sha256, until } from "./signing.ts";

/** Searches that it takes to find a key: the private half, public objects and certificates. */
export const SEARCHES = 3;

/** Opens a signer whose calls all belong to the test from now on. */
export async function openWhole(
  at: ShimmedToken,
  sessions: number,
  options: Partial<GuardedOptions> = {},
): Promise<GuardedSigner> {
  const found = at.shim.calls("C_FindObjectsInit");
  const signer = await at.opener.open({ ...at.base, sessions, ...options });
  await until(() => at.shim.counter("openSessions") === sessions);
  await untilFound(at.shim, signer, found + SEARCHES * sessions);
  return signer;
}

/** Signs until so many searches were made: every session has found and proven the key then. */
export async function untilFound(shim: Pkcs11Shim, signer: Signer, searches: number): Promise<void> {
  // So slow that each session gets its share.
  shim.delay("C_Sign", 20);
  await until(async () => {
    await Promise.all(Array.from({ length: 4 }, () => outcome(signer)));
    return shim.calls("C_FindObjectsInit") >= searches;
  });
  shim.delay("C_Sign", 0);
}

/** Calls of functions while the work runs. */
export async function counted<Name extends ShimFunction>(
  at: ShimmedToken,
  names: readonly Name[],
  work: () => Promise<unknown>,
): Promise<Record<Name, number>> {
  const before = names.map((name) => at.shim.calls(name));
  await work();
  const entries = names.map((name, index) => [name, at.shim.calls(name) - (before[index] ?? 0)]);
  return Object.fromEntries(entries) as Record<Name, number>;
}

/** One request: what becomes of it, and how often C_Sign was called with its digest. */
export async function request(
  { shim }: Pick<ShimmedToken, "shim">,
  signer: Signer,
): Promise<{ code: string; sent: number }> {
  const message = randomBytes(32);
  const digest = sha256(message);
  const code = await signer.sign(digest).then(
    (signature) => {
      const key = createPublicKey({ key: { ...signer.publicKey }, format: "jwk" });
      const isGood = verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature);
      return isGood ? "signed" : "did not verify";
    },
    (error: unknown) => String((error as { code?: unknown }).code),
  );
  const hex = digest.toString("hex");
  return { code, sent: shim.digests().filter((other) => other === hex).length };
}
