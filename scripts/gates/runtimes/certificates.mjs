import { spawnSync } from "node:child_process";
import { createPublicKey, X509Certificate } from "node:crypto";

/** What the program puts into both. */
const SUBJECT = "CN=op.example,O=Example,C=DE";
const NAMES = "DNS:op.example, URI:https://op.example, IP Address:2001:DB8:0:0:0:0:0:1";

/**
 * What is wrong with a certificate request and a self-signed certificate, as OpenSSL reads them outside.
 *
 * @param {{ request: string, certificate: string }} pem
 * @param {readonly import("node:crypto").KeyObject[]} publicKeys the first one is certified
 * @returns {string[]}
 */
export function certificateProblems({ request, certificate }, [publicKey]) {
  const told = openssl(request, "req", "-verify", "-noout", "-text", "-nameopt", "RFC2253", "-pubkey");
  const x509 = new X509Certificate(certificate);
  const isOurs = (/** @type {import("node:crypto").KeyObject} */ key) => publicKey?.equals(key) === true;
  const [pem = ""] = /-----BEGIN PUBLIC KEY-----[^]*-----END PUBLIC KEY-----/.exec(told) ?? [];
  return [
    ...(/verify OK/i.test(told) ? [] : ["OpenSSL does not verify the request"]),
    ...(told.includes(`Subject: ${SUBJECT}\n`) && told.includes(NAMES) ? [] : ["the request has other names"]),
    ...(pem !== "" && isOurs(createPublicKey(pem)) ? [] : ["the request is for another key"]),
    ...(isOurs(x509.publicKey) && x509.verify(x509.publicKey) ? [] : ["the certificate does not verify"]),
    ...(x509.subject === SUBJECT.split(",").toReversed().join("\n") && x509.subjectAltName === NAMES
      ? []
      : ["the certificate has other names"]),
  ];
}

/** What it prints. @param {string} input @param {readonly string[]} args */
function openssl(input, ...args) {
  const { stdout, stderr, error } = spawnSync("openssl", args, { input, encoding: "utf8" });
  return error === undefined ? `${stdout}${stderr}` : error.message;
}
