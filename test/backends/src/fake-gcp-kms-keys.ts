import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { signDigest } from "./digest-signature.ts";

/** States of a version, in the API's words. */
export type FakeVersionState = "PENDING_GENERATION" | "ENABLED" | "DISABLED" | "DESTROYED" | "DESTROY_SCHEDULED";

export interface FakeKeyVersion {
  /** `projects/…/cryptoKeyVersions/N`. */
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly algorithm: "EC_SIGN_P256_SHA256" | "EC_SIGN_P384_SHA384";
  readonly protectionLevel: "SOFTWARE" | "HSM";
  readonly createTime: Date;
  /** A version that is PENDING_GENERATION becomes ENABLED by itself after its time. */
  state: FakeVersionState;
}

export interface FakeVersionOptions {
  /** Default `projects/signpost-test/locations/europe-west3/keyRings/op/cryptoKeys/sig`. */
  readonly cryptoKey?: string | undefined;
  /** Default: one more than the highest of that key. */
  readonly version?: number | undefined;
  readonly state?: FakeVersionState | undefined;
  /** How long it stays PENDING_GENERATION, from the first call that asks for it. Milliseconds, default 0. */
  readonly pendingMs?: number | undefined;
  readonly protectionLevel?: "SOFTWARE" | "HSM" | undefined;
  readonly algorithm?: "EC_SIGN_P256_SHA256" | "EC_SIGN_P384_SHA384" | undefined;
}

export interface FakeKeyring {
  add(options?: FakeVersionOptions): FakeKeyVersion;
  find(name: string): FakeKeyVersion | undefined;
  /** In the order of creation. A test can make that differ from the numeric order. */
  list(cryptoKey: string): readonly FakeKeyVersion[];
  /** DER of an ECDSA signature over exactly these 32 bytes. */
  sign(name: string, digest: Uint8Array): Uint8Array;
  /** The version that signs in place of the right one: another key of the same algorithm. */
  readonly stranger: FakeKeyVersion;
}

export const DEFAULT_CRYPTO_KEY = "projects/signpost-test/locations/europe-west3/keyRings/op/cryptoKeys/sig";

export function createFakeKeyring(): FakeKeyring {
  const versions = new Map<string, FakeKeyVersion>();
  const secrets = new Map<string, Uint8Array>();

  const add = (options: FakeVersionOptions = {}): FakeKeyVersion => {
    const cryptoKey = options.cryptoKey ?? DEFAULT_CRYPTO_KEY;
    const number = options.version ?? highest(versions.keys(), cryptoKey) + 1;
    const name = `${cryptoKey}/cryptoKeyVersions/${number}`;
    const algorithm = options.algorithm ?? "EC_SIGN_P256_SHA256";
    const namedCurve = algorithm === "EC_SIGN_P256_SHA256" ? "P-256" : "P-384";
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve });
    const pendingMs = options.pendingMs ?? 0;
    let state: FakeVersionState = pendingMs > 0 ? "PENDING_GENERATION" : (options.state ?? "ENABLED");
    let askedAt: number | undefined;
    const version: FakeKeyVersion = {
      name,
      publicKey,
      algorithm,
      protectionLevel: options.protectionLevel ?? "SOFTWARE",
      createTime: new Date(Date.UTC(2026, 0, 1) + number * 86_400_000),
      get state() {
        if (pendingMs > 0) askedAt ??= performance.now();
        if (state === "PENDING_GENERATION" && askedAt !== undefined && performance.now() - askedAt >= pendingMs) {
          state = "ENABLED";
        }
        return state;
      },
      set state(next) {
        state = next;
      },
    };
    versions.set(name, version);
    const { d = "" } = privateKey.export({ format: "jwk" });
    secrets.set(name, Buffer.from(d, "base64url"));
    return version;
  };

  return {
    add,
    find: (name) => versions.get(name),
    list: (cryptoKey) =>
      [...versions.values()].filter(({ name }) => name.startsWith(`${cryptoKey}/cryptoKeyVersions/`)),
    sign: (name, digest) => {
      const secret = secrets.get(name);
      if (secret === undefined) throw new Error(`no version ${name}`);
      return signDigest(digest, secret);
    },
    stranger: add({ cryptoKey: DEFAULT_CRYPTO_KEY.replace(/sig$/u, "stranger") }),
  };
}

export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}

function highest(names: Iterable<string>, cryptoKey: string): number {
  const prefix = `${cryptoKey}/cryptoKeyVersions/`;
  let found = 0;
  for (const name of names) if (name.startsWith(prefix)) found = Math.max(found, Number(name.slice(prefix.length)));
  return found;
}
