import {
  ConfigurationError,
  createJwksEndpoint,
  createKeySet,
  currentKeySet,
  type JwksEndpoint,
  type JwksEndpointOptions,
  type KeySet,
  type KeySetEntry,
  type LegacyKey,
  type OwnKeys,
} from "@signpost/core";
import { assertOptions, type OptionNames, readOwnKeys } from "@signpost/core/adapter";
import { type ReadLegacyKey, readLegacyKeys } from "./legacy-keys.ts";
import { withoutOwn } from "./publication.ts";
import type { KubernetesLegacyKey } from "../signer-types.ts";

/** Options of `createPublicJwksEndpoint`. */
export interface PublicJwksOptions extends Pick<
  JwksEndpointOptions,
  "issuer" | "mountPrefix" | "endpoints" | "allowInsecureIssuer" | "cors" | "weakIfNoneMatch" | "onError"
> {
  /** The keys of the signer. */
  readonly keys: OwnKeys;
  /** The legacy keys of the signer. Those that are excluded from discovery are left out. Default none. */
  readonly legacyKeys?: readonly KubernetesLegacyKey[] | undefined;
}

const PUBLIC_OPTIONS: OptionNames<PublicJwksOptions> = {
  issuer: true,
  mountPrefix: true,
  endpoints: true,
  allowInsecureIssuer: true,
  cors: true,
  weakIfNoneMatch: true,
  onError: true,
  keys: true,
  legacyKeys: true,
};

/**
 * Serves the keys of a cluster at a URL of yours, for `--service-account-jwks-uri`: those that kube-apiserver would publish, with
 * caching and an ETag. The path is `/openid/v1/jwks` unless `endpoints.jwks` says otherwise.
 *
 * @throws ConfigurationError for an invalid option, and for a legacy key on P-384 or P-521, unless it is excluded from discovery.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import type { RotationSchedule } from "@signpost/core";
 * import { createPublicJwksEndpoint } from "@signpost/kubernetes";
 *
 * declare const keys: RotationSchedule;
 * const endpoint = createPublicJwksEndpoint({ issuer: "https://keys.example", keys });
 * createServer(endpoint.listener).listen(8080); // https://keys.example/openid/v1/jwks
 * ```
 */
export function createPublicJwksEndpoint(options: PublicJwksOptions): JwksEndpoint {
  assertOptions("options", options, PUBLIC_OPTIONS);
  const { keys, legacyKeys, endpoints = { jwks: "/openid/v1/jwks" }, ...rest } = options;
  const { source, jwksRotationActive } = readOwnKeys(keys);
  const published = withLegacyKeys(readLegacyKeys(legacyKeys));
  const current = (): KeySet => published(currentKeySet(source));
  // At once, so that a mistake is found at the start.
  current();
  return createJwksEndpoint({ ...rest, endpoints, keys: current, jwksRotationActive: jwksRotationActive ?? null });
}

/** Legacy keys in the two forms that the endpoint has for them. */
interface PublicLegacyKeys {
  readonly rsa: readonly LegacyKey[];
  readonly p256: readonly KeySetEntry[];
}

function publicLegacyKeys(keys: readonly ReadLegacyKey[]): PublicLegacyKeys {
  const rsa: LegacyKey[] = [];
  const p256: KeySetEntry[] = [];
  for (const [index, { keyId, jwk, excludeFromDiscovery }] of keys.entries()) {
    if (excludeFromDiscovery) continue;
    if (jwk.kty === "RSA") rsa.push({ keyId, publicKey: { ...jwk }, alg: "RS256" });
    else if (jwk.kty === "EC" && jwk.crv === "P-256") p256.push({ keyId, publicKey: { ...jwk } });
    else {
      const problem = "expected an RSA or P-256 key, or excludeFromDiscovery: the public key set has no others";
      throw new ConfigurationError(`legacyKeys[${index}]`, problem);
    }
  }
  return { rsa, p256 };
}

/** The same object until the set changes, because caches depend on its identity. */
function withLegacyKeys(legacy: readonly ReadLegacyKey[]): (keySet: KeySet) => KeySet {
  // All of them, so that a mistake has its place in the option.
  publicLegacyKeys(legacy);
  let before: { readonly keySet: KeySet; readonly published: KeySet } | undefined;
  return (keySet) => {
    if (before?.keySet === keySet) return before.published;
    const { active, keys } = keySet;
    const { rsa, p256 } = publicLegacyKeys(withoutOwn(legacy, keySet));
    const retiring = keys
      .filter(({ keyId, alg, use }) => keyId !== active.keyId && alg === "ES256" && use === "sig")
      .map(({ keyId, publicKey }): KeySetEntry => ({ keyId, publicKey: { ...publicKey } }));
    const entries: KeySetEntry[] = [{ keyId: active.keyId, signer: active.signer }, ...retiring, ...p256];
    const published = createKeySet(entries, { legacyVerificationKeys: rsa });
    before = { keySet, published };
    return published;
  };
}
