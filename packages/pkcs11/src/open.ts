import { type GuardedSigner, type GuardPolicy, guardSigner, type Signer } from "@signpost/core";
import { assertPolicy, createSigner } from "@signpost/core/adapter";
import { openThreadKey } from "./pool/open-key.ts";
import { openProcessKey } from "./process/open-key.ts";
import type { KeyRequest } from "./request/key-request.ts";
import { keyRequest, type Pkcs11SignerOptions } from "./request/options.ts";
import { formatKeyUri } from "./request/uri.ts";
import { withinDeadline } from "./wire/until-aborted.ts";

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
  return openKeySigner(await keyRequest(options), options);
}

type OpenKeyOptions = Pick<Pkcs11SignerOptions, "policy" | "signal" | "isolation" | "openDeadlineMs">;

/** Opens the key of a checked request, as a guarded or a bare signer. */
export async function openKeySigner(request: KeyRequest, options: OpenKeyOptions): Promise<Signer> {
  const { policy, signal, isolation, openDeadlineMs } = options;
  // Before anything is opened that nobody would close.
  assertPolicy(policy);
  const open = isolation === "process" ? openProcessKey : openThreadKey;
  const opening = open(request);
  const key = await withinDeadline(opening, openDeadlineMs, signal).catch((error: unknown) => {
    // Nobody waits for it any more: it is closed as soon as it is open.
    opening.then((late) => late.close()).catch(() => {});
    throw error;
  });
  const signer = createSigner({
    uri: formatKeyUri(request.module, key),
    publicKey: key.publicKey,
    signDigest: (digest, call) => key.sign(digest, call.signal),
    close: () => key.close(),
  });
  if (policy === false) return signer;
  // C_Sign is called at most twice for a request: some tokens count signatures, and all of them are slow.
  return guardSigner(signer, policy, {
    defaults: { concurrency: key.sessions, maxAttempts: 2 },
    notes: () => key.notes(),
    status: () => key.status(),
  });
}
