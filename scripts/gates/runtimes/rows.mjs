/**
 * The rows of the table in docs/runtimes.md, in its order: what is run for each.
 *
 * @typedef {object} Row
 * @property {string} label the first cell of the row
 * @property {string} program a file in `programs`
 * @property {string} backend a backend of backends.mjs
 * @property {readonly string[]} [needs] rows of scripts/backends.mjs
 * @property {string} [package] which opener of programs/signers.mjs signs
 * @property {number} [tokens] how many tokens are signed, if not 1,000
 * @property {boolean} [waits] whether it waits for most of its time, and so starts first
 * @property {boolean} [certifies] whether it hands over certificates
 * @property {readonly string[]} [limited] runtimes for which the page names a limit
 * @property {readonly string[]} [lingers] runtimes on which the program does not end by itself in time: one of these limits
 */

/** A host makes several requests for each token. */
const TOKENS_OF_HOST = 200;

/** @type {readonly Row[]} */
export const ROWS = [
  { label: "`@signpost/core`", program: "serving.mjs", backend: "local", limited: ["deno", "bun"] },
  { label: "`@signpost/verify`", program: "verifying.mjs", backend: "servers", limited: ["bun"] },
  { label: "`@signpost/local`", program: "signing.mjs", backend: "local", package: "local" },
  { label: "`@signpost/aws-kms`, with the SDK", program: "signing.mjs", backend: "aws-kms-sdk", package: "aws-kms" },
  {
    label: "`@signpost/aws-kms`, over HTTPS",
    program: "signing.mjs",
    backend: "aws-kms-https",
    package: "aws-kms",
  },
  { label: "`@signpost/gcp-kms`, over gRPC", program: "signing.mjs", backend: "gcp-kms-grpc", package: "gcp-kms" },
  {
    label: "`@signpost/gcp-kms`, over REST",
    program: "signing.mjs",
    backend: "gcp-kms-rest",
    package: "gcp-kms",
    limited: ["deno", "bun"],
    lingers: ["deno", "bun"],
    waits: true,
  },
  {
    label: "`@signpost/azure-key-vault`",
    program: "signing.mjs",
    backend: "azure-key-vault",
    package: "azure-key-vault",
  },
  {
    label: "`@signpost/vault-transit`",
    program: "signing.mjs",
    backend: "vault-transit",
    needs: ["openbao"],
    package: "vault-transit",
  },
  {
    label: "`@signpost/pkcs11`, in threads",
    program: "signing.mjs",
    backend: "pkcs11-thread",
    needs: ["softhsm"],
    package: "pkcs11",
    limited: ["deno"],
    waits: true,
  },
  {
    label: "`@signpost/pkcs11`, in a process",
    program: "signing.mjs",
    backend: "pkcs11-process",
    needs: ["softhsm"],
    package: "pkcs11",
    limited: ["deno"],
    waits: true,
  },
  {
    label: "`@signpost/x509`",
    program: "certifying.mjs",
    backend: "authorities",
    needs: ["openssl"],
    tokens: 0,
    certifies: true,
    limited: ["deno", "bun"],
  },
  {
    label: "`@signpost/oidc-provider`",
    program: "hosting-oidc-provider.mjs",
    backend: "local",
    tokens: TOKENS_OF_HOST,
  },
  { label: "`@signpost/better-auth`", program: "hosting-better-auth.mjs", backend: "local", tokens: TOKENS_OF_HOST },
  { label: "`@signpost/kubernetes`", program: "answering-kubernetes.mjs", backend: "local", limited: ["deno"] },
  { label: "`@signpost/cli`", program: "commands.mjs", backend: "local", tokens: 2 },
];
