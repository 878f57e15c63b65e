import { generateKeyPairSync, randomBytes } from "node:crypto";

/** The private half of a version, and its public half as JWK members. */
export interface KeyMaterial {
  readonly secret: Uint8Array;
  readonly x: string;
  readonly y: string;
}

/** Attributes of a version. Times are seconds since the epoch. */
export interface FakeAttributes {
  enabled: boolean;
  nbf?: number | undefined;
  exp?: number | undefined;
  created: number;
  updated: number;
  recoveryLevel: string;
  exportable?: boolean | undefined;
}

export interface FakeKeyVersion {
  readonly version: string;
  readonly material: KeyMaterial;
  /** `EC` or `EC-HSM`; a test may set another type. */
  kty: string;
  crv: string;
  keyOps: readonly string[];
  readonly attributes: FakeAttributes;
  /** Other members of what the service says of the version, such as `release_policy`. */
  others: object;
}

/** A key with its versions, the oldest first. */
export interface FakeAzureKey {
  readonly name: string;
  readonly versions: readonly FakeKeyVersion[];
  /** The newest version. */
  readonly latest: FakeKeyVersion;
  softDeleted: boolean;
  /** Makes a new version, as a rotation policy does. */
  rotate(settings?: VersionSettings): FakeKeyVersion;
}

/** What differs from a usual version: EC-HSM, enabled, made now, in a vault with purge protection. */
export interface VersionSettings {
  readonly material?: KeyMaterial | undefined;
  readonly kty?: string | undefined;
  readonly crv?: string | undefined;
  readonly keyOps?: readonly string[] | undefined;
  readonly attributes?: Partial<FakeAttributes> | undefined;
}

/** A new P-256 key. Pass it to several vaults to import the same key into each. */
export function createKeyMaterial(): KeyMaterial {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { d = "", x = "", y = "" } = privateKey.export({ format: "jwk" });
  return { secret: Buffer.from(d, "base64url"), x, y };
}

export function createFakeKey(name: string, settings: VersionSettings = {}): FakeAzureKey {
  const versions = [createVersion(settings)];
  return {
    name,
    versions,
    get latest() {
      const [latest] = versions.slice(-1);
      if (latest === undefined) throw new Error("a key has at least one version");
      return latest;
    },
    softDeleted: false,
    rotate: (other = {}) => {
      const version = createVersion(other);
      versions.push(version);
      return version;
    },
  };
}

function createVersion(settings: VersionSettings): FakeKeyVersion {
  const { material = createKeyMaterial(), kty = "EC-HSM", crv = "P-256", keyOps = ["sign", "verify"] } = settings;
  const now = Math.floor(Date.now() / 1000);
  return {
    version: randomBytes(16).toString("hex"),
    material,
    kty,
    crv,
    keyOps,
    others: {},
    attributes: { enabled: true, created: now, updated: now, recoveryLevel: "Recoverable", ...settings.attributes },
  };
}
