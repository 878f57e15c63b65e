import { type ActiveKey, ConfigurationError, signWith, type OwnKeys, type SignWithOptions } from "@signpost/core";
import {
  assertOptions,
  type OptionNames,
  readCallback,
  readChoice,
  readOwnKeys,
  readWholeNumber,
} from "@signpost/core/adapter";
import { answerFailures, hostFailure, unknownKid, withdrawnMeanwhile } from "./failure.ts";
import {
  ACKNOWLEDGED_HOOK,
  type ExternalSigningKeyClassLike,
  type OidcProviderErrorsLike,
  type OidcProviderLike,
  requireKnownHook,
} from "./host.ts";
import { signingKey, verifyingPlace } from "./host-keys.ts";
import { liveKeys } from "./live-keys.ts";
import { type JwksEndpointLike, mountJwks, publicationCheck, requireMountable } from "./mount-jwks.ts";
import { crowdReport, expiryReport, operatorReport } from "./operator-reports.ts";
import { readSigningInput } from "./signing-input.ts";

/** Options of `signpostKeys`. `Key` is the host's class of external keys. */
export interface SignpostKeysOptions<Key extends object> {
  /** The host's own class: `import { ExternalSigningKey } from "oidc-provider"`. Required. */
  readonly ExternalSigningKey: ExternalSigningKeyClassLike<Key>;
  /** The host's own errors: `import { errors } from "oidc-provider"`. Required. */
  readonly errors: OidcProviderErrorsLike;
  /**
   * The OP's own keys: a rotation schedule, which brings its withdrawn keys with it, a set made by `createKeySet`, a
   * function that returns the one of this moment (the same object until something changed), or the list of entries
   * itself, which is read once. Required. Give the same to the endpoint.
   */
  readonly keys: OwnKeys;
  /**
   * How many keys, the active one not counted, can verify an `id_token_hint` at once: announced, retiring and withdrawn
   * ones. The host fixes this number when it is constructed. When there are more, hints of those withdrawn first are
   * refused, and `onError` is told. Default 16; 0 to 256, and 0 is for an OP that takes hints of the active key alone.
   */
  readonly verifyingKeys?: number | undefined;
  /**
   * Told when there are more keys than `verifyingKeys`, once until they fit again, and once when the host signs a token
   * that expires later than the schedule publishes its key. What it throws is dropped. Default: a warning of the process.
   */
  readonly onError?: ((error: ConfigurationError) => void) | undefined;
  /** As for `signWith`: `"always"` (default) or `"first"`. */
  readonly verify?: SignWithOptions["verify"];
}

/** What `signpostKeys` makes for one Provider. */
export interface SignpostKeys<Key extends object> {
  /** For the host's configuration: the key that signs, and the places of those that only verify. */
  readonly jwks: { readonly keys: Key[] };
  /** To be spread into the host's `features`. */
  readonly features: { readonly externalSigningSupport: { readonly enabled: true; readonly ack: string } };
  /** To be spread into the host's `clientDefaults`: its own defaults of RS256 would break each client. */
  readonly clientDefaults: {
    readonly id_token_signed_response_alg: "ES256";
    readonly authorization_signed_response_alg: "ES256";
    readonly introspection_signed_response_alg: "ES256";
  };
  /**
   * Serves `endpoint` as the provider's JWKS, and lets failures reach clients as OAuth errors. Call it once, right after
   * construction. The host's own JWKS can be read from any origin; for that, make the endpoint with `cors: true`.
   *
   * The host spends an authorization code, a device code or a refresh token that rotates before it signs: after a 503 of
   * the token endpoint the same one is refused as `invalid_grant`. What the guard retries, or a second signer of
   * `failoverSigner` answers, is spared that.
   *
   * @throws ConfigurationError when the endpoint has another issuer or path than the provider, or does not publish the
   * active key, and when it is called twice.
   */
  attach(provider: OidcProviderLike, endpoint: JwksEndpointLike): void;
}

/**
 * What the host needs to sign with the OP's own keys, with live rotation: keys that appear later sign, and verify
 * hints, without a new Provider.
 *
 * @throws ConfigurationError naming the option, also when the host's hook is not the one that this package was made
 * for, and whatever a source function or a schedule throws.
 * @example
 * ```ts
 * import { errors, ExternalSigningKey, Provider } from "oidc-provider";
 * import { createJwksEndpoint, type RotationSchedule } from "@signpost/core";
 * import { signpostKeys } from "@signpost/oidc-provider";
 *
 * export function createProvider(issuer: string, schedule: RotationSchedule): Provider {
 *   const signpost = signpostKeys({ ExternalSigningKey, errors, keys: schedule });
 *   const provider = new Provider(issuer, {
 *     jwks: signpost.jwks,
 *     features: { ...signpost.features },
 *     clientDefaults: { ...signpost.clientDefaults },
 *   });
 *   signpost.attach(provider, createJwksEndpoint({ issuer, keys: schedule }));
 *   return provider;
 * }
 * ```
 */
export function signpostKeys<Key extends object>(options: SignpostKeysOptions<Key>): SignpostKeys<Key> {
  assertOptions("options", options, PLUG_OPTIONS);
  const { ExternalSigningKey: hostClass, errors, verifyingKeys = 16, verify = "always" } = options;
  requireKnownHook(hostClass, errors);
  readWholeNumber("verifyingKeys", verifyingKeys, 0, 256);
  readChoice("verify", verify, ["always", "first"]);
  const tell = operatorReport(readCallback("onError", options.onError));
  const own = readOwnKeys(options.keys);
  const keys = liveKeys(own);
  const reportCrowd = crowdReport(verifyingKeys, tell);
  const reportExpiry = expiryReport(own.latestExpiry, tell);
  const requirePublished = publicationCheck();
  let attached: JwksEndpointLike | undefined;

  const sign = async (data: Uint8Array): Promise<Uint8Array> => {
    try {
      if (attached === undefined) {
        throw new ConfigurationError("provider", "expected attach(provider, endpoint) before the first token");
      }
      const { kid, exp } = readSigningInput(data);
      const entry = keys.signing(kid);
      reportCrowd(keys.verifying().length);
      reportExpiry(exp);
      if (entry === undefined) throw keys.wasWithdrawn(kid) ? withdrawnMeanwhile(kid) : unknownKid();
      requirePublished(attached, entry);
      return await signPublished(entry, data);
    } catch (error) {
      throw hostFailure(error, errors);
    }
  };
  /** The signature, if the key is still published when it is there. A revoked key's own failure says less than that. */
  const signPublished = async (entry: ActiveKey, data: Uint8Array): Promise<Uint8Array> => {
    try {
      const signature = await signWith(entry, data, { verify });
      if (keys.isPublished(entry)) return signature;
    } catch (error) {
      if (keys.isPublished(entry)) throw error;
      throw withdrawnMeanwhile(entry.keyId, error);
    }
    throw withdrawnMeanwhile(entry.keyId);
  };
  const places = Array.from({ length: verifyingKeys }, (_, index) =>
    verifyingPlace(hostClass, keys, index, () => attached !== undefined),
  );

  return {
    jwks: { keys: [signingKey(hostClass, keys, sign), ...places] },
    features: { externalSigningSupport: { enabled: true, ack: ACKNOWLEDGED_HOOK } },
    clientDefaults: {
      id_token_signed_response_alg: "ES256",
      authorization_signed_response_alg: "ES256",
      introspection_signed_response_alg: "ES256",
    },
    attach: (provider, endpoint) => {
      if (attached !== undefined)
        throw new ConfigurationError("provider", "expected to be attached once: make keys for each provider");
      requireMountable(provider, endpoint);
      requirePublished(endpoint, keys.active());
      mountJwks(provider, endpoint);
      provider.use(answerFailures);
      attached = endpoint;
      reportCrowd(keys.verifying().length);
    },
  };
}

const PLUG_OPTIONS: OptionNames<SignpostKeysOptions<object>> = {
  ExternalSigningKey: true,
  errors: true,
  keys: true,
  verifyingKeys: true,
  onError: true,
  verify: true,
};
