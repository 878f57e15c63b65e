import { createSigner, type GuardedSigner, type GuardPolicy, guardSigner, type Signer } from "@signpost/core";
import type { OpenKey } from "./backend.ts";
import { keyRequest, type Pkcs11SignerOptions } from "./options.ts";
import { openThreadKey } from "./threads/open-key.ts";
import { formatKeyUri } from "./uri.ts";

/**
 * Opens a P-256 key on a PKCS#11 token. Nothing of Cryptoki runs on the caller's thread: each session lives in a
 * worker thread of its own. Signers on one token share the sessions. The key is checked, and proven by a signature
 * that verifies under its public half.
 *
 * ```ts
 * import { openPkcs11Signer } from "@signpost/pkcs11";
 *
 * await using signer = await openPkcs11Signer({
 *   module: "/usr/lib/softhsm/libsofthsm2.so",
 *   token: "op",
 *   object: "sig-2026",
 *   pin: async () => process.env["OP_PIN"] ?? "",
 * });
 * ```
 *
 * @throws ConfigurationError for an option, the module's path or a missing `pkcs11js`; SignerError `key_not_found` (also:
 * no such token), `ambiguous_key`, `unsupported_key`, `wrong_key`, `pin_incorrect`, `pin_locked`, `access_denied`,
 * `unavailable`, `timeout`.
 */
export function openPkcs11Signer(options: Pkcs11SignerOptions & { readonly policy: false }): Promise<Signer>;
export function openPkcs11Signer(
  options: Pkcs11SignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
export function openPkcs11Signer(options: Pkcs11SignerOptions): Promise<Signer>;
export async function openPkcs11Signer(options: Pkcs11SignerOptions): Promise<Signer> {
  const request = await keyRequest(options);
  return toSigner(request.module, await openThreadKey(request), options);
}

function toSigner(module: string, key: OpenKey, { policy }: Pkcs11SignerOptions): Signer {
  const signer = createSigner({
    uri: formatKeyUri(module, key),
    publicKey: key.publicKey,
    signDigest: (digest, { signal }) => key.sign(digest, signal),
    close: () => key.close(),
  });
  if (policy === false) return signer;
  // C_Sign is called at most twice for a request: some tokens count signatures, and all of them are slow.
  return guardSigner(
    signer,
    { concurrency: key.sessions, maxAttempts: 2, ...policy },
    { notes: () => key.notes(), status: () => key.status() },
  );
}
