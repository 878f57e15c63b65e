import { type ActiveKey, ConfigurationError, signWith, type OwnKeys, type SignWithOptions } from "@signpost/core";
import {
  assertOptions,
  type OptionNames,
  readCallback,
  readChoice,
  readOwnKeys,
  readWholeNumber,
} from "@signpost/core/adapter";
import { type AttachOptions, readAttachOptions } from "./attach-options.ts";
import { answerFailures, hostFailure, unknownKid, withdrawnMeanwhile } from "./failure.ts";
import { requireKidOfHints } from "./hints.ts";
import {
  ACKNOWLEDGED_HOOK,
  answeredRequest,
  type ExternalSigningKeyClassLike,
  type OidcProviderErrorsLike,
  type OidcProviderSigningLike,
  requireKnownHook,
  requestContext,
  requireSigningHost,
} from "./host.ts";
import { askHostAlgorithms, isQuestion } from "./host-algorithms.ts";
import { signingKey, verifyingPlace } from "./host-keys.ts";
import { liveKeys } from "./live-keys.ts";
import {
  type JwksEndpointLike,
  mountEndpoint,
  requireMountable,
  requireOwnEndpoint,
  requireUnserved,
} from "./mount-jwks.ts";
import { crowdReport, expiryReport, operatorReport } from "./operator-reports.ts";
import { publicationCheck, publishedKeys } from "./published.ts";
import { checkBeforeSpending, requireSignableResourceServers } from "./resource-servers.ts";
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
   * Told when there are more keys than `verifyingKeys`, once until they fit again; once when the host signs a token that
   * expires later than the schedule publishes its key; once when, by the first request of one of its routes, the host
   * announces its JWKS at another place than the endpoint's; of a key of the host's own that signs and is not published by
   * the endpoint; and where the host has not our keys, or others before them. What it throws is dropped. Default: a
   * warning of the process.
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
   * Serves `endpoint` as the provider's JWKS, readable from any origin, and lets failures reach clients as OAuth errors.
   * Call it once, right after construction: before other middleware, and before `provider.callback()` or a mount. Nothing is
   * signed for a request that did not come by, nor before the first one that did, unless `servesRequests` is false.
   *
   * From then on the provider refuses an `id_token_hint` without a kid, and a resource server whose tokens cannot be
   * signed (`jwt.sign.alg: "RS256"`) at the authorization request.
   *
   * The host spends an authorization code, a device code, a CIBA request or a refresh token that rotates before it signs:
   * after a 503 of the token endpoint the same one is refused as `invalid_grant`. What the guard retries, or a second signer of
   * `failoverSigner` answers, is spared that.
   *
   * @throws ConfigurationError when the endpoint has another issuer or path than the provider, or does not publish the
   * active key, when it is called twice, and when `provider.callback()` was called before.
   */
  attach(provider: OidcProviderSigningLike, endpoint: JwksEndpointLike, options?: AttachOptions): void;
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
  let attached: { readonly provider: OidcProviderSigningLike; readonly endpoint: JwksEndpointLike } | undefined;
  const seen = new WeakSet<object>();
  let signsOutsideRequests = false;
  let asked = false;

  const sign = async (data: Uint8Array): Promise<Uint8Array> => {
    try {
      if (attached === undefined) {
        throw new ConfigurationError("provider", "expected attach(provider, endpoint) before the first token");
      }
      const { kid, claims } = readSigningInput(data);
      if (isQuestion(claims)) {
        asked = true;
        throw new Error("asked who signs, and not to sign");
      }
      requireAttached(attached.provider, claims["iss"]);
      const request = answeredRequest(attached.provider);
      if (request === undefined ? !signsOutsideRequests : !seen.has(request)) throw unserved();
      const entry = keys.signing(kid);
      reportCrowd(keys.verifying().length);
      reportExpiry(claims["exp"]);
      if (entry === undefined) throw keys.wasWithdrawn(kid) ? withdrawnMeanwhile(kid) : unknownKid();
      requirePublished(attached.endpoint, entry);
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
    attach: (provider, endpoint, options) => {
      if (attached !== undefined)
        throw new ConfigurationError("provider", "expected to be attached once: make keys for each provider");
      const { cors, servesRequests, getResourceServerInfo } = readAttachOptions(options);
      requireMountable(provider, endpoint);
      requireSigningHost(provider);
      requireOwnEndpoint(provider, endpoint);
      requirePublished(endpoint, keys.active());
      if (servesRequests) requireUnserved(provider);
      else signsOutsideRequests = true;
      provider.use((context, next) => {
        seen.add(context);
        signsOutsideRequests = true;
        return next();
      });
      mountEndpoint(provider, endpoint, cors, tell);
      provider.use(answerFailures);
      requireKidOfHints(provider);
      const abilities = {
        activeKid: () => keys.active().keyId,
        host: askHostAlgorithms(
          provider,
          () => publishedKeys(endpoint) ?? [],
          () => asked,
          tell,
        ),
        failure: (cause: unknown) => hostFailure(cause, errors),
      };
      requireSignableResourceServers(provider, abilities);
      if (getResourceServerInfo !== undefined) checkBeforeSpending(provider, abilities, getResourceServerInfo);
      attached = { provider, endpoint };
      reportCrowd(keys.verifying().length);
    },
  };
}

/**
 * A second provider with the same keys publishes those of its construction, and nothing tells it of others. The issuer
 * tells them apart; where the OP has written another one into a token, or both have the same, the request that is answered
 * does.
 */
function requireAttached(provider: OidcProviderSigningLike, issuer: unknown): void {
  const answering = requestContext(provider)?.oidc?.provider;
  if (answering === provider) return;
  const isOther = issuer !== undefined && issuer !== provider.issuer;
  // Of the same issuer, the one that answers a request signs for itself.
  const isTwin = (answering as Partial<OidcProviderSigningLike> | undefined)?.issuer === provider.issuer;
  if (!isOther && !isTwin) return;
  const problem = `expected the one that was attached, of ${provider.issuer}: make keys for each provider, and attach each`;
  throw new ConfigurationError("provider", problem);
}

/** The endpoint may not be mounted: tokens would leave under a kid that is published nowhere. */
function unserved(): ConfigurationError {
  const problem =
    "no request has come by, or not this one: call attach before provider.callback(), and before the provider is mounted. In a process that " +
    "serves no requests: attach(provider, endpoint, { servesRequests: false })";
  return new ConfigurationError("servesRequests", problem);
}

const PLUG_OPTIONS: OptionNames<SignpostKeysOptions<object>> = {
  ExternalSigningKey: true,
  errors: true,
  keys: true,
  verifyingKeys: true,
  onError: true,
  verify: true,
};
