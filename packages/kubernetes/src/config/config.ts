import type { JwkInput, RotationScheduleOptions } from "@signpost/core";
import type { SocketOptions } from "../socket/socket-options.ts";

/** An entry of `keys`: a key with its URI, or only its public half. */
export interface ConfigKey {
  /** The published `kid`. Default: the thumbprint of the key (RFC 7638). */
  readonly keyId?: string | undefined;
  /** Key URI: `awskms:///alias/sa`, `pkcs11:token=sa;object=sa-2026`. */
  readonly uri?: string | undefined;
  /** A key that no longer signs: a public JWK, or SPKI PEM. */
  readonly publicKey?: JwkInput | string | undefined;
}

/** An entry of a schedule, as `signpost serve` and `signpost rotate` have it. Dates are RFC 3339 texts. */
export interface ConfigScheduledKey {
  readonly keyId?: string | undefined;
  /** Key URI. */
  readonly signer?: string | undefined;
  readonly publicKey?: JwkInput | string | undefined;
  readonly announcedFrom: string;
  readonly activeFrom: string;
  readonly emergencyAt?: string | undefined;
}

/** A schedule, as `signpost serve` and `signpost rotate` have it. */
export interface ConfigSchedule extends Pick<
  RotationScheduleOptions,
  "announceHours" | "sharedCaches" | "rotationWindowHours" | "hintAcceptanceHours" | "clockSkewSeconds"
> {
  readonly entries: readonly ConfigScheduledKey[];
  /** Default: that of the configuration. Any other value is refused. */
  readonly maxTokenLifetimeSeconds?: number | undefined;
}

/** A public key in a file. */
export interface ConfigLegacyKey {
  /** SPKI PEM, such as `/etc/kubernetes/pki/sa.pub`. */
  readonly publicKeyFile: string;
  readonly excludeFromDiscovery?: boolean | undefined;
}

/** Where health and metrics are. */
export interface ConfigAdmin {
  /** A loopback address. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** 0 takes a free port. */
  readonly port: number;
}

/** Where the key set is served for everyone: the target of `--service-account-jwks-uri`. */
export interface ConfigPublicJwks {
  /** Default `127.0.0.1`. */
  readonly host?: string | undefined;
  readonly port: number;
  /** The issuer in whose place the key set is served. Default: `issuer`. */
  readonly issuer?: string | undefined;
  /** The path of the key set. Default `/openid/v1/jwks`. */
  readonly path?: string | undefined;
}

/** The configuration, with the names of its members checked. What uses a value checks it. */
export interface Config {
  readonly $schema?: string | undefined;
  readonly issuer: string;
  readonly socket: SocketOptions;
  readonly maxTokenLifetimeSeconds: number;
  readonly refreshHintSeconds?: number | undefined;
  readonly keys?: readonly ConfigKey[] | undefined;
  /** The schedule, or `file:PATH` of a file with only the schedule. */
  readonly schedule?: ConfigSchedule | string | undefined;
  readonly legacyKeys?: readonly ConfigLegacyKey[] | undefined;
  /** Options of adapters, by the scheme of their URIs. */
  readonly adapters?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
  readonly admin?: ConfigAdmin | undefined;
  /** `-` for stdout, or a path. */
  readonly audit?: string | undefined;
  readonly publicJwks?: ConfigPublicJwks | undefined;
}
