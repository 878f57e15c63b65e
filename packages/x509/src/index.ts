export { createCsr } from "./csr.ts";
export type { CsrOptions } from "./csr.ts";
export type {
  CertificateBasicConstraints,
  CertificateExtensions,
  CriticalExtensions,
  CustomExtension,
} from "./extensions/read-extensions.ts";
export type { CertificateKeyUsage, CertificatePurpose } from "./extensions/usages.ts";
export type { SubjectAltName } from "./names/alt-names.ts";
export type { AttributeStringType } from "./names/attribute-types.ts";
export type { DistinguishedName, EncodedAttribute, RelativeDistinguishedName } from "./names/read-name.ts";
export { selfSigned } from "./self-signed.ts";
export type { SelfSignedOptions } from "./self-signed.ts";
export type { EncodedCertificate } from "./encode/pem.ts";
export type { CertificateInfo } from "./inspect/certificate-info.ts";
export type { ChainFault, ChainProblemCode } from "./inspect/chain-faults.ts";
export { inspectChain } from "./inspect/inspect-chain.ts";
export type { ChainProblem, InspectChainOptions, InspectedChain } from "./inspect/inspect-chain.ts";
export { readCertificates } from "./inspect/read-certificates.ts";
export type { CertificateName } from "./names/certificate-names.ts";
