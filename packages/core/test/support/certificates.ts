import { constants, createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { type P256PublicJwk, spkiToJwk } from "@signpost/core";

const DAY = 86_400_000;

/** A key that signs certificates, or that a certificate is for. */
export interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export const newP256 = (): Pair => generateKeyPairSync("ec", { namedCurve: "P-256" });
export const newP384 = (): Pair => generateKeyPairSync("ec", { namedCurve: "P-384" });
export const newRsa = (modulusLength: number = 2048): Pair => generateKeyPairSync("rsa", { modulusLength });
export const newEd25519 = (): Pair => generateKeyPairSync("ed25519");

/** A certificate of a test. Each member that is not given is as a sound CA writes it. */
export interface CertificatePlan {
  readonly name: string;
  readonly key: Pair;
  /** Undefined: self-signed. */
  readonly issuer?: Issued | undefined;
  /** Signs in place of the issuer's key. */
  readonly signedBy?: Pair;
  readonly hash?: "sha1" | "sha256" | "sha384" | "sha512";
  /** RSASSA-PSS with this hash, in place of PKCS #1. The issuer's key is RSA. */
  readonly pss?: "sha1" | "sha256";
  /** The digits of notAfter, in place of `until`. */
  readonly notAfter?: string;
  /** Days from now. */
  readonly from?: number;
  readonly until?: number;
  /** basicConstraints. `none`: without the extension. */
  readonly ca?: boolean | "none";
  readonly pathLength?: number | undefined;
  /** The first byte of keyUsage. `none`: without the extension. */
  readonly keyUsage?: number | "none";
  /** An extension that no verifier knows. */
  readonly unknown?: "critical" | "other" | undefined;
  /** One more extension: its object identifier and its value, both in hex. */
  readonly extension?: readonly [id: string, value: string];
  readonly twice?: boolean;
  /** Of the certificate, counted from 0. `none`: without the member, which means 0. Default 2, which is version 3. */
  readonly version?: number | "none";
  /** The bytes of the serial number. Default: 9 random ones, which are a positive number. */
  readonly serial?: readonly number[];
  /** The byte of each BOOLEAN that is TRUE. DER has 0xff. */
  readonly trueByte?: number;
  /** The number of unused bits that keyUsage says. */
  readonly unusedBits?: number;
}

export interface Issued {
  readonly plan: CertificatePlan;
  readonly der: Buffer;
  readonly pem: string;
  /** The key of the certificate as a JWK. P-256 only. */
  readonly jwk: P256PublicJwk;
  readonly base64: string;
}

export const KEY_USAGE = { digitalSignature: 0x80, nonRepudiation: 0x40, keyAgreement: 0x08, certSign: 0x06 } as const;

/** A certificate. The defaults are those of a CA for issuers and roots, so `leaf` makes that of a key. */
export function issue(plan: CertificatePlan): Issued {
  const signer = plan.signedBy ?? plan.issuer?.plan.key ?? plan.key;
  const algorithm =
    plan.pss === undefined ? signatureAlgorithm(signer.privateKey, plan.hash ?? "sha256") : PSS[plan.pss];
  const now = Date.now();
  const tbs = sequence(
    ...(plan.version === "none" ? [] : [der(0xa0, der(0x02, Buffer.of(plan.version ?? 2)))]),
    der(0x02, Buffer.from(plan.serial ?? [1, ...randomBytes(8)])),
    algorithm,
    nameOf(plan.issuer?.plan.name ?? plan.name),
    sequence(
      timeOf(now + (plan.from ?? -1) * DAY),
      plan.notAfter === undefined
        ? timeOf(now + (plan.until ?? 365) * DAY)
        : der(0x17, Buffer.from(`${plan.notAfter}Z`)),
    ),
    nameOf(plan.name),
    plan.key.publicKey.export({ type: "spki", format: "der" }),
    ...extensionsOf(plan),
  );
  const isEd = signer.privateKey.asymmetricKeyType === "ed25519";
  const signature =
    plan.pss === undefined
      ? sign(isEd ? null : (plan.hash ?? "sha256"), tbs, signer.privateKey)
      : sign(plan.pss, tbs, {
          key: signer.privateKey,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        });
  const whole = sequence(tbs, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  return {
    plan,
    der: whole,
    pem: pemOf(whole, "CERTIFICATE"),
    base64: whole.toString("base64"),
    get jwk() {
      return spkiToJwk(plan.key.publicKey.export({ type: "spki", format: "der" }));
    },
  };
}

/** The certificate of a key that signs tokens. */
export function leaf(issuer: Issued | undefined, plan: Partial<CertificatePlan> = {}): Issued {
  return issue({
    name: "op.example",
    key: newP256(),
    issuer,
    ca: false,
    keyUsage: KEY_USAGE.digitalSignature,
    ...plan,
  });
}

export const root = (plan: Partial<CertificatePlan> = {}): Issued => issue({ name: "Root", key: newP256(), ...plan });
export const intermediate = (issuer: Issued, plan: Partial<CertificatePlan> = {}): Issued =>
  issue({ name: "Intermediate", key: newP256(), issuer, ...plan });

/** A sound chain: the certificate of a key, one issuer, and the root. */
export function soundChain(plan: Partial<CertificatePlan> = {}): { leaf: Issued; middle: Issued; root: Issued } {
  // The leaf is the first to expire, however long it takes to make them.
  const top = root({ until: 367 });
  const middle = intermediate(top, { until: 366 });
  return { leaf: leaf(middle, plan), middle, root: top };
}

export const bundleOf = (...certificates: readonly Issued[]): string => certificates.map(({ pem }) => pem).join("");

export function pemOf(bytes: Uint8Array, label: string): string {
  const lines = Buffer.from(bytes)
    .toString("base64")
    .replaceAll(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

function extensionsOf(plan: CertificatePlan): Buffer[] {
  const { ca = true, pathLength, keyUsage = KEY_USAGE.certSign, unknown, twice, key, issuer } = plan;
  const [id, value] = plan.extension ?? [];
  const { trueByte = 0xff, unusedBits } = plan;
  const extension = (id: string, critical: boolean, value: Buffer): Buffer =>
    sequence(oid(id), ...(critical ? [der(0x01, Buffer.of(trueByte))] : []), der(0x04, value));
  const constraints = ca === true ? [der(0x01, Buffer.of(trueByte))] : [];
  if (pathLength !== undefined) constraints.push(der(0x02, Buffer.of(pathLength)));
  const basic = ca === "none" ? [] : [extension("551d13", true, sequence(...constraints))];
  const list = [
    ...basic,
    ...(twice === true ? basic : []),
    ...(keyUsage === "none" ? [] : [extension("551d0f", true, bitString(keyUsage, unusedBits))]),
    extension("551d0e", false, der(0x04, keyIdentifier(key))),
    extension("551d23", false, sequence(der(0x80, keyIdentifier(issuer?.plan.key ?? key)))),
    ...(id === undefined ? [] : [extension(id, false, Buffer.from(value ?? "", "hex"))]),
    ...(unknown === undefined ? [] : [extension("2a0304", unknown === "critical", der(0x05, Buffer.alloc(0)))]),
  ];
  return [der(0xa3, sequence(...list))];
}

function keyIdentifier({ publicKey }: Pair): Buffer {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

function bitString(first: number, unused: number = Math.log2(first & -first)): Buffer {
  return der(0x03, Buffer.of(unused, first));
}

const RSA = { sha1: "05", sha256: "0b", sha384: "0c", sha512: "0d" };
const ECDSA = {
  sha1: "2a8648ce3d0401",
  sha256: "2a8648ce3d040302",
  sha384: "2a8648ce3d040303",
  sha512: "2a8648ce3d040304",
};

function signatureAlgorithm({ asymmetricKeyType }: KeyObject, hash: keyof typeof RSA): Buffer {
  if (asymmetricKeyType === "ed25519") return sequence(oid("2b6570"));
  if (asymmetricKeyType === "rsa") return sequence(oid(`2a864886f70d0101${RSA[hash]}`), der(0x05, Buffer.alloc(0)));
  return sequence(oid(ECDSA[hash]));
}

const SHA256 = sequence(oid("608648016503040201"), der(0x05, Buffer.alloc(0)));
/** RFC 4055 section 3.1. Without parameters, the hash is SHA-1. */
const PSS = {
  sha1: sequence(oid("2a864886f70d01010a"), sequence()),
  sha256: sequence(
    oid("2a864886f70d01010a"),
    sequence(
      der(0xa0, SHA256),
      der(0xa1, sequence(oid("2a864886f70d010108"), SHA256)),
      der(0xa2, der(0x02, Buffer.of(32))),
    ),
  ),
};

function nameOf(text: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(text)))));
}

function timeOf(time: number): Buffer {
  const digits = new Date(time).toISOString().replaceAll(/[-:T]/g, "").slice(0, 14);
  return Number(digits.slice(0, 4)) < 2050
    ? der(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : der(0x18, Buffer.from(`${digits}Z`));
}

export function der(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const bytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...bytes), content]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}
