/**
 * @typedef {object} Entry a page in the navigation
 * @property {string} text
 * @property {string} file relative to the clone
 *
 * @typedef {object} Section
 * @property {string} text
 * @property {boolean} [folded] whether a reader must open it to see its pages
 * @property {readonly Entry[]} entries
 */

/** Every page of docs/ is in one section, or a check fails. The menu leaves out entries whose file does not exist. @type {readonly Section[]} */
export const SECTIONS = [
  {
    text: "Begin",
    entries: [
      { text: "Start in five minutes", file: "docs/start.md" },
      { text: "Concepts", file: "docs/concepts.md" },
      { text: "Choose a backend", file: "docs/choose-a-backend.md" },
      { text: "Migrate", file: "docs/migrate.md" },
      { text: "Peers", file: "docs/compare.md" },
      { text: "Overview", file: "README.md" },
      { text: "Glossary", file: "docs/glossary.md" },
    ],
  },
  {
    text: "Integrate",
    entries: [
      { text: "Hosts and frameworks", file: "docs/hosts.md" },
      { text: "Five kinds of token", file: "docs/tokens.md" },
      { text: "Endpoint", file: "docs/endpoint.md" },
      { text: "Endpoint in more frameworks", file: "docs/frameworks.md" },
      { text: "Shared caches", file: "docs/shared-caches.md" },
      { text: "oidc-provider", file: "docs/oidc-provider.md" },
      { text: "oidc-provider: failures", file: "docs/oidc-provider-failures.md" },
      { text: "oidc-provider: from RS256", file: "docs/oidc-provider-rs256.md" },
      { text: "better-auth", file: "docs/better-auth.md" },
      { text: "Clients with keys in an HSM", file: "docs/client-keys.md" },
      { text: "Credential issuers", file: "docs/credential-issuers.md" },
      { text: "OpenID Federation", file: "docs/federation.md" },
      { text: "Kubernetes", file: "docs/kubernetes.md" },
      { text: "Kubernetes: operations", file: "docs/kubernetes-operations.md" },
    ],
  },
  {
    text: "Backends",
    folded: true,
    entries: [
      { text: "Signers", file: "docs/signer.md" },
      { text: "AWS KMS", file: "docs/aws-kms.md" },
      { text: "AWS KMS in production", file: "docs/aws-kms-production.md" },
      { text: "AWS KMS: connections", file: "docs/aws-kms-connections.md" },
      { text: "AWS KMS over HTTPS", file: "docs/aws-kms-https.md" },
      { text: "Google Cloud KMS", file: "docs/gcp-kms.md" },
      { text: "Google Cloud KMS in production", file: "docs/gcp-kms-production.md" },
      { text: "Google Cloud KMS: connections", file: "docs/gcp-kms-connections.md" },
      { text: "Azure Key Vault", file: "docs/azure-key-vault.md" },
      { text: "Azure Key Vault in production", file: "docs/azure-key-vault-production.md" },
      { text: "Vault and OpenBao", file: "docs/vault-transit.md" },
      { text: "Vault and OpenBao in production", file: "docs/vault-transit-production.md" },
      { text: "PKCS#11", file: "docs/pkcs11.md" },
      { text: "PKCS#11: PINs", file: "docs/pkcs11-pins.md" },
      { text: "PKCS#11: modules", file: "docs/pkcs11-modules.md" },
      { text: "PKCS#11: recovery", file: "docs/pkcs11-recovery.md" },
      { text: "PKCS#11: threads", file: "docs/pkcs11-threads.md" },
      { text: "Write an adapter", file: "docs/adapters.md" },
      { text: "Conformance", file: "docs/conformance.md" },
    ],
  },
  {
    text: "Rotate",
    entries: [
      { text: "Rotating keys", file: "docs/rotation.md" },
      { text: "A compromised key", file: "docs/emergency.md" },
      { text: "Certificates", file: "docs/certificates.md" },
      { text: "Certificates in the JWKS", file: "docs/x5c.md" },
    ],
  },
  {
    text: "Verify",
    entries: [
      { text: "Key sets of an OP", file: "docs/verify.md" },
      { text: "ID and access tokens", file: "docs/verify-jwt.md" },
      { text: "In an OP", file: "docs/verify-op.md" },
      { text: "Errors", file: "docs/verify-errors.md" },
      { text: "Other libraries", file: "docs/verify-peers.md" },
    ],
  },
  {
    text: "Operate",
    entries: [
      { text: "Operations", file: "docs/operations.md" },
      { text: "Monitoring", file: "docs/monitoring.md" },
      { text: "Incidents", file: "docs/incidents.md" },
      { text: "Reliability", file: "docs/reliability.md" },
      { text: "Performance", file: "docs/performance.md" },
      { text: "Performance: method", file: "docs/performance-method.md" },
      { text: "Performance: every figure", file: "docs/performance-figures.md" },
      { text: "Runtimes", file: "docs/runtimes.md" },
      { text: "Versions", file: "docs/versions.md" },
    ],
  },
  {
    text: "Command line",
    folded: true,
    entries: [
      { text: "signpost", file: "docs/cli.md" },
      { text: "signpost rotate", file: "docs/cli-rotate.md" },
      { text: "signpost check", file: "docs/cli-check.md" },
      { text: "signpost serve", file: "docs/cli-serve.md" },
      { text: "signpost csr and cert", file: "docs/cli-csr.md" },
      { text: "signpost bench", file: "docs/cli-bench.md" },
    ],
  },
  {
    text: "Security",
    entries: [
      { text: "Security policy", file: "SECURITY.md" },
      { text: "Threat model", file: "docs/threat-model.md" },
      { text: "Key ceremony", file: "docs/key-ceremony.md" },
      { text: "Audit", file: "docs/audit.md" },
      { text: "Hardware", file: "docs/hardware.md" },
      { text: "FIPS", file: "docs/fips.md" },
      { text: "Dependencies", file: "docs/dependencies.md" },
    ],
  },
  {
    text: "Inside",
    folded: true,
    entries: [
      { text: "Contributing", file: "CONTRIBUTING.md" },
      { text: "Testing", file: "docs/testing.md" },
      { text: "Fuzzing", file: "docs/fuzzing.md" },
      { text: "Architecture", file: "docs/architecture.md" },
      { text: "Inside core", file: "docs/architecture-core.md" },
      { text: "Inside an adapter", file: "docs/architecture-adapters.md" },
      { text: "Inside pkcs11", file: "docs/architecture-pkcs11.md" },
      { text: "Inside verify", file: "docs/architecture-verify.md" },
      { text: "Inside cli", file: "docs/architecture-cli.md" },
      { text: "Inside signpost check", file: "docs/architecture-cli-check.md" },
      { text: "Inside kubernetes", file: "docs/architecture-kubernetes.md" },
    ],
  },
];
