import { fault } from "./fault.ts";
import type { Subject } from "./fault.ts";

const BEGIN = "-----BEGIN PUBLIC KEY-----";
const END = "-----END PUBLIC KEY-----";

/**
 * The DER inside one PEM block labelled `PUBLIC KEY` (RFC 7468 section 13). White space around the block and any
 * line width are accepted; another label, a second block, text around it, headers and sloppy base64 are not.
 */
export function publicKeyPemToDer(pem: string, subject: Subject): Uint8Array {
  const text = pem.trim();
  if (!text.startsWith(BEGIN) || !text.endsWith(END) || text.length < BEGIN.length + END.length) {
    throw fault(subject, 'expected exactly one PEM block labelled "PUBLIC KEY"');
  }
  const body = text.slice(BEGIN.length, -END.length);
  if (!/^[\r\n]/.test(body) || !/[\r\n]$/.test(body)) {
    throw fault(subject, "the PEM boundaries are not lines of their own");
  }
  const base64 = body.replaceAll(/[\r\n]/g, "");
  const der = Buffer.from(base64, "base64");
  // A second block, a header or other text between the boundaries is not base64 either.
  if (base64 === "" || der.toString("base64") !== base64) throw fault(subject, "the PEM block is not padded base64");
  return new Uint8Array(der);
}
