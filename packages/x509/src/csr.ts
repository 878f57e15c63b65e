import { ConfigurationError, jwkToSpki, type Signer } from "@signpost/core";
import { assertOptions, readSignal, type OptionNames } from "@signpost/core/adapter";
import { contextTagged, objectIdentifier, sequence, setOf } from "./encode/der.ts";
import type { EncodedCertificate } from "./encode/pem.ts";
import { encodeExtensions } from "./extensions/extension.ts";
import { readExtensions, type CertificateExtensions } from "./extensions/read-extensions.ts";
import { readAltNames, type SubjectAltName } from "./names/alt-names.ts";
import { encodeName } from "./names/encode-name.ts";
import { readName, type DistinguishedName } from "./names/read-name.ts";
import { readSigner } from "./read-signer.ts";
import { signStructure } from "./sign-structure.ts";

/** Options of `createCsr`. */
export interface CsrOptions {
  /** The subject. It may be empty (`[]`) if there is a name in `subjectAltNames`. */
  readonly subject: DistinguishedName;
  /** Other names of the subject. At most 1000. Default none. */
  readonly subjectAltNames?: readonly SubjectAltName[] | undefined;
  /** Extensions to ask for. The authority decides which ones it grants. Default: `keyUsage` with `digitalSignature`. */
  readonly extensions?: CertificateExtensions | undefined;
  /** Aborts the signature. The call then rejects with `SignerError` `aborted`. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: OptionNames<CsrOptions> = { subject: true, subjectAltNames: true, extensions: true, signal: true };

const VERSION_1 = Uint8Array.of(0x02, 0x01, 0x00);
/** extensionRequest (RFC 2985 section 5.4.2). */
const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";

/**
 * Creates a certificate request (PKCS#10, RFC 2986) for the signer's key, signed by that key with ecdsa-with-SHA256. The request
 * proves to a certificate authority that you hold the key, which does not leave its KMS or HSM. The signature is verified before
 * the request is returned.
 *
 * Use a guarded signer, which bounds the call by its deadline.
 *
 * @throws ConfigurationError for an invalid argument, which it names; SignerError as `signer.sign` does, and `bad_signature` if
 * the signature does not verify.
 * @example
 * ```ts
 * import { createCsr } from "@signpost/x509";
 * import { openLocalSigner } from "@signpost/local";
 *
 * const signer = await openLocalSigner();
 * const { pem } = await createCsr(signer, {
 *   subject: "CN=op.example,O=Example,C=DE",
 *   subjectAltNames: [{ dns: "op.example" }, { uri: "https://op.example" }],
 * });
 * ```
 */
export async function createCsr(signer: Signer, options: CsrOptions): Promise<EncodedCertificate> {
  const key = readSigner(signer);
  assertOptions("options", options, OPTIONS);
  const signal = readSignal("signal", options.signal);
  const subject = readName("subject", options.subject);
  const altNames = readAltNames("subjectAltNames", options.subjectAltNames);
  if (subject.length === 0 && altNames === undefined) {
    throw new ConfigurationError("subject", "expected a name, or names in subjectAltNames");
  }
  const extensions = readExtensions({
    extensions: options.extensions,
    altNames,
    isSubjectEmpty: subject.length === 0,
  });
  const info = sequence([
    VERSION_1,
    encodeName(subject),
    jwkToSpki(key.publicKey),
    // Attributes, which are there even if there are none.
    contextTagged(0, extensions.length === 0 ? [] : [extensionRequest(encodeExtensions(extensions))]),
  ]);
  return signStructure(key, "CERTIFICATE REQUEST", info, signal);
}

function extensionRequest(extensions: Uint8Array): Uint8Array {
  return sequence([objectIdentifier(EXTENSION_REQUEST), setOf([extensions])]);
}
