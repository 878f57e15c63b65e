import {
  ConfigurationError,
  currentKeySet,
  type KeySet,
  type KeySetSource,
  type RotationSchedule,
  signJws,
} from "@signpost/core";
import { assertOptions, type OptionNames, readOwnKeys, readText, readWholeNumber } from "@signpost/core/adapter";
import { checkClaims, readClaims, subjectOf } from "./claims.ts";
import { createPublication, MAX_HINT_SECONDS, type Publication } from "./publication.ts";
import { type ReadLegacyKey, readLegacyKeys } from "./legacy-keys.ts";
import type { KubernetesSigner, KubernetesSignerOptions, KubernetesSignOptions, SignedToken } from "../signer-types.ts";

export const SIGNER_OPTIONS: OptionNames<KubernetesSignerOptions> = {
  issuer: true,
  keys: true,
  maxTokenLifetimeSeconds: true,
  refreshHintSeconds: true,
  legacyKeys: true,
  now: true,
};

/** kube-apiserver refuses a signer with less. */
export const MIN_LIFETIME_SECONDS = 600;
export const MAX_LIFETIME_SECONDS = 315_360_000;
export const DEFAULT_HINT_SECONDS = 60;

/**
 * Creates the signer that `serveKubernetesSigner` serves. It opens nothing: you open and close the signers of the keys.
 *
 * @throws ConfigurationError for an invalid option, for a schedule that withdraws keys before their tokens expire, and if a
 * legacy key has the `kid` of a key that signs.
 * @example
 * ```ts
 * import { createKubernetesSigner } from "@signpost/kubernetes";
 * import { openLocalSigner } from "@signpost/local";
 *
 * const signer = createKubernetesSigner({
 *   issuer: "https://kubernetes.default.svc",
 *   keys: [{ signer: await openLocalSigner() }],
 *   maxTokenLifetimeSeconds: 86_400,
 * });
 * console.log(signer.fetchKeys().keys.length); // 1
 * ```
 */
export function createKubernetesSigner(options: KubernetesSignerOptions): KubernetesSigner {
  return createSignerWith(options, createPublication());
}

/** The same for a configuration that is loaded again: what was published before, and when, is remembered outside. */
export function createSignerWith(options: KubernetesSignerOptions, publication: Publication): KubernetesSigner {
  assertOptions("options", options, SIGNER_OPTIONS);
  const { refreshHintSeconds = DEFAULT_HINT_SECONDS, now = Date.now } = options;
  const issuer = readText("issuer", options.issuer);
  const { source } = readOwnKeys(options.keys);
  const maxTokenLifetimeSeconds = readWholeNumber(
    "maxTokenLifetimeSeconds",
    options.maxTokenLifetimeSeconds,
    MIN_LIFETIME_SECONDS,
    MAX_LIFETIME_SECONDS,
  );
  const hintSeconds = readWholeNumber("refreshHintSeconds", refreshHintSeconds, 1, MAX_HINT_SECONDS);
  const legacy = readLegacyKeys(options.legacyKeys);
  requireLongPublication(source, maxTokenLifetimeSeconds, now());
  // At once, so that a mistake is found before kube-apiserver asks.
  requireDistinct(currentKeySet(source), legacy);

  return Object.freeze({
    issuer,
    maxTokenLifetimeSeconds,
    async sign(claims: string, { signal, onClaims }: KubernetesSignOptions = {}): Promise<SignedToken> {
      const read = readClaims(claims);
      onClaims?.(subjectOf(read));
      checkClaims(read, { issuer, maxTokenLifetimeSeconds, time: now() });
      return partsOf(await signJws(source, read.payload, { typ: "JWT", signal }));
    },
    fetchKeys: () => {
      const time = now();
      return publication.answer(
        { keySet: currentKeySet(source), legacy, nextChange: nextChangeOf(source) },
        time,
        hintSeconds,
      );
    },
  });
}

function partsOf(jws: string): SignedToken {
  const [header = "", , signature = ""] = jws.split(".");
  const { kid } = JSON.parse(Buffer.from(header, "base64url").toString()) as { readonly kid: string };
  return { header, signature, keyId: kid };
}

/** A key that signs must be published, and kube-apiserver refuses one that is excluded. Later, the key that signs wins. */
function requireDistinct(keySet: KeySet, legacy: readonly ReadLegacyKey[]): void {
  const index = legacy.findIndex(({ keyId }) => keySet.find(keyId) !== undefined);
  if (index === -1) return;
  throw new ConfigurationError(`legacyKeys[${index}]`, "has the kid of a key of keys; remove it from legacyKeys");
}

function requireLongPublication(source: KeySetSource, lifetimeSeconds: number, time: number): void {
  if (!isSchedule(source)) return;
  // The clock of the schedule may be another one, so this allows for a second.
  const keptSeconds = source.latestExpiry() - Math.floor(time / 1000) + 1;
  if (keptSeconds >= lifetimeSeconds) return;
  throw new ConfigurationError(
    "maxTokenLifetimeSeconds",
    `expected no more than the schedule's maxTokenLifetimeSeconds, got ${lifetimeSeconds}: keys would be withdrawn before their tokens expire`,
  );
}

function nextChangeOf(source: KeySetSource): number {
  return isSchedule(source) ? (source.nextChange()?.getTime() ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

function isSchedule(source: KeySetSource): source is RotationSchedule {
  return typeof source === "object" && "nextChange" in source;
}
