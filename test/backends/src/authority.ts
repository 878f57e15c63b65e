import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { commonName, der, oid, pemOf, sequence, utcTime } from "./der.ts";

const DAY = 86_400_000;

/** What a certificate says. Without the optional members, it is sound. */
export interface CertificatePlan {
  readonly name: string;
  readonly publicKey: KeyObject;
  /** Alternative names. */
  readonly dns?: string;
  readonly uri?: string;
  /** The last day, counted from now. Default 30. */
  readonly days?: number;
  /** Of a certificate that is not an authority: the first byte of its key usage. Default `digitalSignature`. */
  readonly keyUsage?: number;
}

/** A certificate with the key that it is for, which can sign others. */
export interface Authority {
  readonly privateKey: KeyObject;
  readonly pem: string;
  /** As in `x5c` (RFC 7515 section 4.1.6). */
  readonly base64: string;
  /** The certificate of a key, as PEM. */
  certify(plan: CertificatePlan): string;
  /** An authority below this one. */
  authority(name: string): Authority;
}

const KEY_USAGE = { digitalSignature: 0x80, keyCertSign: 0x04 } as const;

/** A self-signed authority. Its key is of P-256, as all others. */
export function createAuthority(name: string): Authority {
  return authorityOf(name);
}

function authorityOf(name: string, parent?: Issuer): Authority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const self: Issuer = { name, publicKey, privateKey };
  const own = certificateBy(parent ?? self, { name, publicKey }, true);
  return {
    privateKey,
    pem: pemOf(own),
    base64: own.toString("base64"),
    certify: (plan) => pemOf(certificateBy(self, plan, false)),
    authority: (below) => authorityOf(below, self),
  };
}

interface Issuer {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** RFC 5280 section 4.1, with ecdsa-with-SHA256. */
function certificateBy(issuer: Issuer, plan: CertificatePlan, isAuthority: boolean): Buffer {
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const end = Date.now() + (plan.days ?? 30) * DAY;
  const start = Math.min(Date.now(), end) - DAY;
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    commonName(issuer.name),
    sequence(utcTime(start), utcTime(end)),
    commonName(plan.name),
    plan.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensionsOf(issuer, plan, isAuthority))),
  );
  const signature = sign("sha256", certificate, issuer.privateKey);
  return sequence(certificate, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])));
}

function extensionsOf(issuer: Issuer, plan: CertificatePlan, isAuthority: boolean): Buffer[] {
  const { publicKey, dns, uri, keyUsage = isAuthority ? KEY_USAGE.keyCertSign : KEY_USAGE.digitalSignature } = plan;
  const names = [
    ...(uri === undefined ? [] : [der(0x86, Buffer.from(uri))]),
    ...(dns === undefined ? [] : [der(0x82, Buffer.from(dns))]),
  ];
  return [
    ...(isAuthority ? [extension("551d13", true, sequence(der(0x01, Buffer.of(0xff))))] : []),
    extension("551d0f", true, der(0x03, Buffer.of(Math.log2(keyUsage & -keyUsage), keyUsage))),
    extension("551d0e", false, der(0x04, keyIdentifier(publicKey))),
    extension("551d23", false, sequence(der(0x80, keyIdentifier(issuer.publicKey)))),
    ...(names.length === 0 ? [] : [extension("551d11", false, sequence(...names))]),
  ];
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [der(0x01, Buffer.of(0xff))] : []), der(0x04, value));
}

function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}
