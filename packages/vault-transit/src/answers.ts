import { ecdsaDerToRaw, SignerError, spkiToJwk, type P256PublicJwk } from "@signpost/core";
import { decodedAnswer, incompleteAnswer, memberOf } from "@signpost/core/adapter";

// Checks every member of an answer, and refuses a missing or a wrong one.

const TYPE = "ecdsa-p256";

/** A key as the server describes it. */
export interface TransitKey {
  readonly type: string;
  readonly latestVersion: number;
  /** Older versions were destroyed. 0: none. */
  readonly minAvailableVersion: number;
  /** The server hides the public keys of older versions. */
  readonly minDecryptionVersion: number;
  /** Older versions cannot sign. 0: the latest version alone signs without a version. */
  readonly minEncryptionVersion: number;
  readonly softDeleted: boolean;
  readonly imported: boolean;
  /** Notes for the operator. */
  readonly notes: readonly string[];
  /** The versions by number. Their members are not checked yet. */
  readonly versions: object;
}

/** Reads the answer to `GET MOUNT/keys/KEY`. */
export function readKey(data: unknown, call: string): TransitKey {
  if (typeof data !== "object" || data === null) throw incompleteAnswer(call, "data");
  const versions = memberOf(data, "keys");
  const type = memberOf(data, "type");
  if (typeof type !== "string") throw incompleteAnswer(call, "type");
  if (typeof versions !== "object" || versions === null) throw incompleteAnswer(call, "keys");
  return {
    type,
    latestVersion: readCount(data, "latest_version", call),
    minAvailableVersion: readCount(data, "min_available_version", call),
    minDecryptionVersion: readCount(data, "min_decryption_version", call),
    minEncryptionVersion: readCount(data, "min_encryption_version", call),
    softDeleted: memberOf(data, "soft_deleted") === true,
    imported: memberOf(data, "imported_key") === true,
    notes: notesOf(data),
    versions,
  };
}

function readCount(data: object, member: string, call: string): number {
  const count = memberOf(data, member);
  if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 0) throw incompleteAnswer(call, member);
  return count;
}

/** What each setting of a key means for a key that signs tokens. */
const NOTES: readonly (readonly [member: string, note: string])[] = [
  ["exportable", "exportable: the private key can be read by those with access to export/, and this cannot be undone"],
  [
    "allow_plaintext_backup",
    "allow_plaintext_backup: the private key can be read by those with access to backup/, and this cannot be undone",
  ],
  ["deletion_allowed", "deletion_allowed: one call can delete the key, and no token can be signed or published then"],
  ["imported_key", "imported_key: the key was made outside the server, and copies of it may exist"],
];

function notesOf(data: object): readonly string[] {
  const period = rotationPeriod(memberOf(data, "auto_rotate_period"));
  return [
    ...NOTES.filter(([member]) => memberOf(data, member) === true).map(([, note]) => note),
    ...(period === undefined
      ? []
      : [`auto_rotate_period ${period}: the server makes new versions by itself; this signer keeps its version`]),
  ];
}

/** Seconds, or a duration such as `24h`. Undefined for none. */
function rotationPeriod(period: unknown): string | undefined {
  if (typeof period !== "number" && typeof period !== "string") return undefined;
  const text = String(period);
  if (/^(?:0[smh]?)?$/.test(text)) return undefined;
  return /^[0-9hms.]{1,32}$/.test(text) ? text : "(not a duration)";
}

/** The error for a key that cannot sign with this version, with the reason. */
export function refusalOf(key: TransitKey, keyVersion: number, call: string): SignerError | undefined {
  const refused = (code: "unsupported_key" | "key_disabled" | "key_not_found", text: string): SignerError =>
    new SignerError(code, `${call}: ${text}`);
  const { type, latestVersion, minAvailableVersion, minDecryptionVersion, minEncryptionVersion } = key;
  if (type !== TYPE) return refused("unsupported_key", `the key has the type ${shown(type)}, expected ${TYPE}`);
  if (key.softDeleted) return refused("key_disabled", "the key is soft-deleted");
  if (keyVersion > latestVersion) {
    return refused("key_not_found", `there is no version ${keyVersion}; the latest is ${latestVersion}`);
  }
  const below = (member: string, least: number): string => `version ${keyVersion} is below ${member}, ${least}`;
  if (keyVersion < minAvailableVersion) {
    return refused("key_not_found", below("min_available_version", minAvailableVersion));
  }
  if (keyVersion < minDecryptionVersion) {
    return refused("key_disabled", below("min_decryption_version", minDecryptionVersion));
  }
  if (keyVersion < minEncryptionVersion) {
    return refused("key_disabled", below("min_encryption_version", minEncryptionVersion));
  }
  return undefined;
}

const TYPE_NAME = /^[a-z0-9_-]{1,64}$/;

function shown(type: string): string {
  return TYPE_NAME.test(type) ? type : "(not a type)";
}

/** The public key of a version. */
export function publicKeyOf({ versions }: TransitKey, keyVersion: number, call: string): P256PublicJwk {
  const pem = memberOf(memberOf(versions, String(keyVersion)), "public_key");
  if (typeof pem !== "string" || pem === "") throw incompleteAnswer(call, "public_key");
  return decodedAnswer(`${call}: public_key of version ${keyVersion}`, () => spkiToJwk(pem));
}

/** When a version was made. */
export function creationTimeOf({ versions }: TransitKey, keyVersion: number, call: string): Date {
  const time = memberOf(memberOf(versions, String(keyVersion)), "creation_time");
  const date = new Date(typeof time === "string" ? time : Number.NaN);
  if (Number.isNaN(date.getTime())) throw incompleteAnswer(call, "creation_time");
  return date;
}

/** The numbers of the versions that the server shows, in numeric order. */
export function versionNumbers({ versions }: TransitKey): readonly number[] {
  const numbers = Object.keys(versions).filter((name) => /^[1-9][0-9]{0,9}$/.test(name));
  return numbers.map(Number).toSorted((a, b) => a - b);
}

// `asn1` was asked for: DER in padded base64. "jws" would be base64url, which is refused.
const SIGNATURE = /^[\w-]+:v([1-9][0-9]{0,9}):([A-Za-z0-9+/]+={0,2})$/;

/** The 64 bytes r‖s in the answer to `POST MOUNT/sign/KEY/sha2-256`. */
export function readSignature(data: unknown, keyVersion: number, call: string): Uint8Array {
  if (typeof data !== "object" || data === null) throw incompleteAnswer(call, "data");
  const text = memberOf(data, "signature");
  if (typeof text !== "string" || text === "") throw incompleteAnswer(call, "signature");
  const version = memberOf(data, "key_version");
  if (version === undefined) throw incompleteAnswer(call, "key_version");
  const [, inSignature, base64 = ""] = SIGNATURE.exec(text) ?? [];
  if (inSignature === undefined) throw new SignerError("integrity", `${call}: the signature has an unknown form`);
  for (const signedWith of [version, Number(inSignature)]) {
    if (signedWith === keyVersion) continue;
    const found = typeof signedWith === "number" ? `version ${signedWith}` : "no version";
    throw new SignerError("wrong_key", `${call}: ${found} signed, expected version ${keyVersion}`);
  }
  const der = Buffer.from(base64, "base64");
  if (der.toString("base64") !== base64) throw new SignerError("integrity", `${call}: the signature is not base64`);
  return decodedAnswer(`${call}: signature`, () => ecdsaDerToRaw(der));
}
