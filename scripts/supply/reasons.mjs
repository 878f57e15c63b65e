/**
 * Why each dependency and peer is there, kept by hand. `npm run dependencies` adds what can be measured.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const REASONS = {
  "@aws-sdk/client-kms": "calls AWS KMS with the credentials and the retries that a deployment already has",
  "@azure/identity": "gives tokens for Key Vault. Not needed if a function gives them",
  "@bomb.sh/tab": "writes the completion for bash, zsh and fish",
  "@clack/prompts": "asks for a PIN, and asks before a command writes, in a terminal only",
  "@google-cloud/kms": "calls Google Cloud KMS over gRPC or REST with the credentials that a deployment already has",
  "@grpc/grpc-js": "speaks gRPC with kube-apiserver, in plain JavaScript",
  "@noble/curves": "signs a digest, which node:crypto would hash again. Not loaded by `signJwt`",
  "@stricli/core": "parses the command line with types, and loads only the code of the command that runs",
  asn1js: "reads and writes the ASN.1 of certificates",
  "better-auth": "the host that this package plugs into",
  "cli-table3": "draws tables that fit a terminal",
  "crc-32": "checks the CRC32C that Google Cloud KMS sends with each answer",
  "http-cache-semantics": "decides how long a JWKS is fresh (RFC 9111)",
  jose: "imports keys for WebCrypto; a second implementation that checks signatures in conformance",
  "jsonc-parser": "reads and edits a configuration file, and keeps its comments",
  "oidc-provider": "the host that this package plugs into",
  picocolors: "colors in a terminal, and none where they are not wanted",
  pkcs11js: "calls a PKCS#11 module. It is the only native code, and only users of PKCS#11 need it",
  pkijs: "certificate requests, certificates and their extensions",
  undici:
    "HTTP with a guard over the addresses of each socket, and with connections that stay open; `fetch` of Node offers neither",
};

/**
 * Packages that run a script when they are installed. All are peers or needed by peers: a user chooses them. No other package may
 * have such a script.
 *
 * @type {Readonly<Record<string, string>>}
 */
export const INSTALL_SCRIPTS = {
  pkcs11js: "compiles its native code. Optional: only users of PKCS#11 install it",
  protobufjs: "warns about version ranges, and does nothing else. `@google-cloud/kms` and `@grpc/grpc-js` need it",
};
