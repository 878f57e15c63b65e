import { generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import { commonName, der, oid, pemOf, sequence, utcTime } from "./der.ts";

export interface SelfSigned {
  /** PEM, to serve and to trust. */
  readonly cert: string;
  readonly key: string;
}

/**
 * A P-256 certificate for one host name, and for more names and IPv4 addresses. It is valid for a day, and trusted only by
 * clients that are told to trust it.
 */
export function selfSignedCertificate(hostname: string, ...others: readonly string[]): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    cert: certificateOf(publicKey, [hostname, ...others], privateKey),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/**
 * A certificate of a public key of any kind, as PEM. It is signed with a P-256 key, by default a new one. `issuer` is the first
 * name in the certificate of that key.
 */
export function certificateOf(
  publicKey: KeyObject,
  names: readonly string[],
  privateKey: KeyObject = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
  issuer: string = names[0] ?? "",
  days: number = 1,
): string {
  const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));
  const subjectAltName = sequence(oid("551d11"), der(0x04, sequence(...names.map(generalName))));
  const now = Date.now();
  const end = now + days * 86_400_000;
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    commonName(issuer),
    sequence(utcTime(Math.min(now, end) - 3_600_000), utcTime(end)),
    commonName(names[0] ?? ""),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(subjectAltName)),
  );
  const signature = sign("sha256", certificate, privateKey);
  const signed = sequence(certificate, ecdsaWithSha256, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  return pemOf(signed);
}

/** RFC 5280 section 4.2.1.6: dNSName is the context tag 2, and iPAddress the context tag 7. */
function generalName(name: string): Buffer {
  if (!/^[\d.]+$/.test(name)) return der(0x82, Buffer.from(name));
  return der(0x87, Buffer.from(name.split(".").map(Number)));
}
