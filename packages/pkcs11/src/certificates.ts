import { SignerError } from "@signpost/core";
import { nameSigner, readSignal, withinDeadline } from "@signpost/core/adapter";
import { certificateChains } from "./certificate-chains.ts";
import type { TokenCertificates } from "./cryptoki/descriptions.ts";
import { pinLedger } from "./pool/pin-ledger.ts";
import { readThreadCertificates } from "./pool/read-certificates.ts";
import { readProcessCertificates } from "./process/open-key.ts";
import {
  readCertificatesOptions,
  type CertificatesRequest,
  type Pkcs11CertificatesOptions,
} from "./request/certificates-options.ts";
import { readModulePath } from "./request/module-path.ts";
import { formatRequestUri } from "./request/uri.ts";

/** A certificate object of a token. */
export interface Pkcs11Certificate {
  /** DER. */
  readonly der: Uint8Array;
  /** PEM (RFC 7468). */
  readonly pem: string;
  /** CKA_LABEL as UTF-8. Empty if it has none. */
  readonly label: string;
  /** CKA_ID. Empty if it has none. */
  readonly id: Uint8Array;
}

/**
 * Finds the certificates that a token holds (CKO_CERTIFICATE): chains, each from its leaf on, with the issuers that the token
 * holds too. The leaf has the public key that you name, or the id or label. Without any of them, each certificate that issued none
 * of the others is a leaf. Chains that are valid now come first, and of these the one that is valid longest. Certificates and
 * their signatures are compared, and nothing else: the chains are not trusted.
 *
 * It logs in nowhere and needs no PIN, and makes no signature. So it does not see certificates that the token hides before a
 * login (CKA_PRIVATE), unless a signer of this process is logged in to the token. A module that no signer has open is
 * initialized and finalized.
 *
 * Rejects with ConfigurationError for an option, the module's path or a missing `pkcs11js`; SignerError `key_not_found` for a
 * missing token, `ambiguous_key`, `integrity`, `access_denied`, `unavailable`, `timeout`, `aborted`. No certificate is no error.
 *
 * @example
 * ```ts
 * import { openPkcs11Signer, pkcs11Certificates } from "@signpost/pkcs11";
 *
 * const module = "/usr/lib/softhsm/libsofthsm2.so";
 * const signer = await openPkcs11Signer({ module, token: "op", pin: () => process.env["OP_PIN"] ?? "" });
 * const [chain = []] = await pkcs11Certificates({ uri: signer.uri, publicKey: signer.publicKey });
 * const x5c = chain.map(({ der }) => Buffer.from(der).toString("base64"));
 * ```
 */
export async function pkcs11Certificates(
  options: Pkcs11CertificatesOptions,
): Promise<readonly (readonly Pkcs11Certificate[])[]> {
  const read = readCertificatesOptions(options);
  const signal = readSignal("signal", options.signal);
  const chains = certificateChains(await readWithin(read, signal), read, Date.now());
  return chains.map((chain) =>
    chain.map(({ object, x509 }) => ({
      der: object.value,
      pem: x509.toString(),
      label: Buffer.from(object.label).toString("utf8"),
      id: object.id,
    })),
  );
}

async function readWithin(
  { request, query, allowedModules, settings }: CertificatesRequest,
  signal: AbortSignal | undefined,
): Promise<TokenCertificates> {
  const { isolation, openDeadlineMs: deadlineMs } = settings;
  const readOnce = async (ending: AbortSignal): Promise<TokenCertificates> => {
    // The file may be on a file system that hangs.
    const module = await readModulePath(request.module, allowedModules);
    if (ending.aborted) throw ending.reason;
    const token = { ...request, module };
    return isolation === "process" ? readProcessCertificates(token, pinLedger()) : readThreadCertificates(token);
  };
  try {
    return await withinDeadline(readOnce, { deadlineMs, signal });
  } catch (error) {
    const uri = formatRequestUri({ ...request, query });
    throw error instanceof SignerError ? nameSigner(error, uri) : error;
  }
}
