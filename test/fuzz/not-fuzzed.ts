/**
 * Files that read text or bytes, and that no target names, with the reason. A test compares this list with the sources. Paths are
 * relative to `packages/`, without `src/`.
 */
export const NOT_FUZZED: Readonly<Record<string, string>> = {
  ...because("signs requests, and reads only its own settings", ["aws-kms/https/http-api.ts"]),
  ...because("looks for paths in files that the SDK's own parser reads again", ["aws-kms/profile-token-files.ts"]),
  ...because("looks for two names in what the SDK logs", ["aws-kms/settings.ts"]),
  ...because("takes the address of a source of credentials from the configuration, or from our own request", [
    "aws-kms/credential-requests.ts",
    "gcp-kms/credential-requests.ts",
    "gcp-kms/secure-sources.ts",
  ]),
  ...because(
    "compares the host of a request with the names of this machine, which core/loopback-host.ts reads, a target",
    ["cli/serve/http/admin-port.ts", "kubernetes/program/admin.ts"],
  ),
  ...because("takes an address that the operator has typed", [
    "cli/backends/gcp-kms.ts",
    "cli/cert/inspect/download.ts",
    "cli/verify/key-source.ts",
  ]),
  ...because("follows a URL as Node reads it, to addresses that cli/network/private-address.ts allows, a target", [
    "cli/check/probe/locate.ts",
    "cli/check/probe/prober.ts",
  ]),
  ...because("passes PEM to TLS, as vault-transit/tls-files.ts does, which is a target", [
    "aws-kms/https/trust.ts",
    "azure-key-vault/tls-files.ts",
  ]),
  ...because("reads back what this program has written or checked just before", [
    "better-auth/claims.ts",
    "cli/rotate/announce/run.ts",
    "cli/serve/live/serving.ts",
    "cli/sign/run.ts",
    "core/host/published.ts",
    "core/rotation/inspect.ts",
    "core/signing/verification.ts",
    "kubernetes/signer/create-signer.ts",
    "local/digest-signer.ts",
    "local/open.ts",
    "oidc-provider/host-keys.ts",
    "oidc-provider/other-key.ts",
    "pkcs11/sharing/pin-memory.ts",
    "verify/client/dropped-limits.ts",
  ]),
  ...because("reads a file and passes it on to a reader that is a target", [
    "cli/config/certificate-files.ts",
    "kubernetes/config/load-config.ts",
    "kubernetes/signer/legacy-keys.ts",
    "local/adapter.ts",
  ]),
  ...because("makes a key or a report in a test or benchmark of an operator", [
    "cli/bench/raw/local.ts",
    "cli/bench/raw/pkcs11.ts",
    "conformance/message.ts",
  ]),
  ...because("takes parts of a key URI that the adapter has accepted, as the files in cli/backends do", [
    "cli/keygen/aws-kms.ts",
    "cli/keygen/azure-key-vault.ts",
    "cli/keygen/gcp-kms.ts",
    "cli/keys/secrets.ts",
    "cli/rotate/validate/mistakes.ts",
  ]),
  ...because("only compares a date, which core/rotation/moment.ts reads, a target", ["kubernetes/keys/plan.ts"]),
  ...because("remembers a header that our own client sends, so that no error shows it", ["gcp-kms/sent-token.ts"]),
  ...because("takes paths from a file that the SDK then reads itself", ["gcp-kms/source-files.ts"]),
  ...because("reads the words of our own errors", ["cli/csr/sign-names.ts"]),
  ...because("reads the name of an error in the words of OpenSSL", ["verify/http/node-errors.ts"]),
  ...because("reads an answer of a service that the operator has named, member by member", [
    "cli/backends/rest.ts",
    "cli/check/probe/connect.ts",
    "cli/doctor/aws-kms.ts",
    "cli/doctor/clock.ts",
  ]),
  ...because("reads numbers of a module as pkcs11/cryptoki/objects.ts does, which is a target", [
    "cli/backends/pkcs11/code-name.ts",
    "cli/backends/pkcs11/slots.ts",
    "pkcs11/cryptoki/call.ts",
    "pkcs11/worker/find-key.ts",
    "pkcs11/worker/sleep-watch.ts",
  ]),
  ...because("passes certificates of a token to OpenSSL, and leaves out what it refuses", [
    "pkcs11/certificate-chains.ts",
  ]),
};

function because(reason: string, files: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(files.map((file) => [file, reason]));
}
