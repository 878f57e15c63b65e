import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What openssl needs to make a key, and to sign with it. docs/runtimes.md says where each kind is verified. */
const KINDS = {
  "P-256": { key: ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], signature: ["-sha256"] },
  "P-384": { key: ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"], signature: ["-sha384"] },
  "P-521": { key: ["EC", "-pkeyopt", "ec_paramgen_curve:P-521"], signature: ["-sha512"] },
  secp256k1: { key: ["EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], signature: ["-sha256"] },
  Ed25519: { key: ["ED25519"], signature: [] },
  Ed448: { key: ["ED448"], signature: [] },
  RSA: { key: ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], signature: ["-sha256"] },
  "RSASSA-PSS": {
    key: ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    signature: ["-sha256", "-sigopt", "rsa_padding_mode:pss"],
  },
};

/**
 * For each kind of authority, its certificate and the one that it issued for a key.
 *
 * @param {import("node:crypto").KeyObject} publicKey
 * @returns {Record<string, { authority: string, leaf: string }>}
 */
export function certificateChains(publicKey) {
  const folder = mkdtempSync(join(tmpdir(), "signpost-authorities-"));
  const openssl = (/** @type {readonly string[]} */ ...args) =>
    execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const read = (/** @type {string} */ name) => readFileSync(join(folder, name), "utf8");
  try {
    writeFileSync(join(folder, "leaf.pub"), publicKey.export({ type: "spki", format: "pem" }));
    writeFileSync(join(folder, "ca.cnf"), CONFIGURATION);
    const chains = Object.entries(KINDS).map(([kind, { key, signature }]) => {
      openssl("genpkey", "-algorithm", ...key, "-out", "ca.key");
      openssl("req", "-x509", "-config", "ca.cnf", "-key", "ca.key", ...signature, "-days", "2", "-out", "ca.pem");
      openssl(
        "req",
        "-new",
        "-config",
        "ca.cnf",
        "-subj",
        "/CN=leaf",
        "-key",
        "ca.key",
        ...signature,
        "-out",
        "leaf.csr",
      );
      const issuer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "2", "-force_pubkey", "leaf.pub"];
      openssl("x509", "-req", "-in", "leaf.csr", ...issuer, ...signature, "-days", "1", "-out", "leaf.pem");
      return [kind, { authority: read("ca.pem"), leaf: read("leaf.pem") }];
    });
    return Object.fromEntries(chains);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const CONFIGURATION = `[req]
distinguished_name = name
x509_extensions = ca
prompt = no
[name]
CN = authority
[ca]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
`;
