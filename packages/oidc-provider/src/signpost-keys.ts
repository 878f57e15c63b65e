import { type ActiveKey, ConfigurationError, type OwnKeys, type SignWithOptions } from "@signpost/core";
import {
  assertOptions,
  createTriedSigner,
  expiryReport,
  operatorReport,
  type OptionNames,
  publishedKeys,
  readCallback,
  readChoice,
  readOwnKeys,
  readWholeNumber,
  requirePublished,
} from "@signpost/core/adapter";
import { type AttachOptions, readAttachOptions } from "./attach-options.ts";
import { type Attached, requireAttached, unserved } from "./attached.ts";
import { checkBeforeSpending, type Spendable, takesAuthorizationResponse, takesIdToken } from "./before-spending.ts";
import { crowdReport } from "./crowd-report.ts";
import { answerFailures, hostFailure } from "./failure.ts";
import { requireHeaderOfHints } from "./hints.ts";
import {
  ACKNOWLEDGED_HOOK,
  answeredRequest,
  type ExternalSigningKeyClassLike,
  type OidcProviderErrorsLike,
  type OidcProviderSigningLike,
  type RequestContext,
  requireKnownHook,
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
import { requireSignableResourceServers, resourceServerCheck } from "./resource-servers.ts";
import { readTokenToSign } from "./signing-input.ts";

/** Options of `signpostKeys`. `Key` is the host's class for external keys. */
export interface SignpostKeysOptions<Key extends object> {
  /** The class of the host: `import { ExternalSigningKey } from "oidc-provider"`. Required. */
  readonly ExternalSigningKey: ExternalSigningKeyClassLike<Key>;
  /** The errors of the host: `import { errors } from "oidc-provider"`. Required. */
  readonly errors: OidcProviderErrorsLike;
  /**
   * The OP's own keys: a rotation schedule, which also provides its withdrawn keys, a set from `createKeySet`, a function
   * that returns the current set (the same object until something changes), or a list of entries, which is read once. Pass
   * the same to the endpoint. Required.
   */
  readonly keys: OwnKeys;
  /**
   * How many keys can verify an `id_token_hint` in addition to the active key: announced, retiring and withdrawn ones. The
   * host fixes this number at construction. If there are more keys, hints of the keys withdrawn first are refused, and
   * `onError` is called. Default 16; 0 to 256. With 0, only hints of the active key are accepted.
   */
  readonly verifyingKeys?: number | undefined;
  /**
   * Called for problems that do not make a request fail:
   *
   * - There are more keys than `verifyingKeys` (once, until they fit again).
   * - The host signs a token that expires after its key is withdrawn (once).
   * - The host announces a JWKS URL that differs from the endpoint's (once).
   * - The host serves its own key set, because `attach` was called too late (once).
   * - The host signs with a key that the endpoint does not publish, or with algorithms that it is not published for.
   * - The keys of `signpostKeys` are missing in the host's `jwks`, or not the first ones.
   *
   * Errors that it throws are dropped. Default: a process warning.
   */
  readonly onError?: ((error: ConfigurationError) => void) | undefined;
  /** Same as for `signWith`: `"always"` (default) or `"first"`. */
  readonly verify?: SignWithOptions["verify"];
}

/** What `signpostKeys` returns, for one Provider. */
export interface SignpostKeys<Key extends object> {
  /** For the host's configuration: the key that signs, and the places for keys that only verify. */
  readonly jwks: { readonly keys: Key[] };
  /** Spread this into the host's `features`. */
  readonly features: { readonly externalSigningSupport: { readonly enabled: true; readonly ack: string } };
  /** Spread this into the host's `clientDefaults`. The host's defaults of RS256 would break every client. */
  readonly clientDefaults: {
    readonly id_token_signed_response_alg: "ES256";
    readonly authorization_signed_response_alg: "ES256";
    readonly introspection_signed_response_alg: "ES256";
  };
  /**
   * Serves `endpoint` as the provider's JWKS, readable from any origin, and turns failures into OAuth errors for clients.
   * Call it once, right after construction: before other middleware, and before `provider.callback()` or a mount. Unless
   * `servesRequests` is false, nothing is signed before the plug has seen a request. A request that the plug has not seen
   * gets no signature.
   *
   * From then on the provider refuses an `id_token_hint` without a kid, or of another kind than an ID token. At the
   * authorization request, it refuses a resource server whose tokens cannot be signed (`jwt.sign.alg: "RS256"`).
   *
   * The host uses up an authorization code, a device code, a CIBA request or a rotating refresh token before it signs. If that
   * signature fails, a retry with the same one gets `invalid_grant`. A retry of the guard, or a second signer of
   * `failoverSigner`, avoids that. After the first failure, and if the plug itself refuses (the endpoint does not publish the
   * key, the key source fails), the request is refused before anything is used up, until the key signs again. This needs a
   * request for an ID token, or `getResourceServerInfo`. The same holds for a pushed authorization request
   * with JARM, or with an ID token in the response.
   *
   * @throws ConfigurationError if the endpoint's issuer or path differs from the provider's, or if the endpoint does not
   * publish the active key; if `attach` was already called; and if `provider.callback()` was already called.
   */
  attach(provider: OidcProviderSigningLike, endpoint: JwksEndpointLike, options?: AttachOptions): void;
}

/**
 * Creates what the host needs to sign with the OP's own keys. Rotation is live: keys that are added later sign, and verify
 * hints, without a new Provider.
 *
 * @throws ConfigurationError that names the option, also if the host's hook has changed. Also throws whatever a source
 * function or a schedule throws.
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
  const tried = createTriedSigner({ verify });
  let attached: Attached | undefined;
  const seen = new WeakSet<object>();
  let signsOutsideRequests = false;
  let asked = false;

  const sign = async (data: Uint8Array): Promise<Uint8Array> => {
    try {
      if (attached === undefined) {
        throw new ConfigurationError("provider", "call attach(provider, endpoint) before the first token");
      }
      const { kid, claims } = readTokenToSign(data);
      if (isQuestion(claims)) {
        asked = true;
        throw new Error("this was only a question which key signs");
      }
      requireAttached(attached.provider, claims["iss"]);
      const entry = permitted(attached, kid);
      reportExpiry(claims["exp"]);
      return await keys.whilePublished(entry, tried.sign(entry, data));
    } catch (error) {
      throw hostFailure(error, errors);
    }
  };
  /** The key of a kid, if it may sign for the current request. Everything that the plug itself refuses is refused here. */
  const permitted = ({ provider, endpoint }: Attached, kid: string): ActiveKey => {
    const request = answeredRequest(provider);
    if (request === undefined ? !signsOutsideRequests : !seen.has(request)) throw unserved();
    reportCrowd(keys.verifying().length);
    const entry = keys.signing(kid);
    requirePublished(endpoint, entry);
    return entry;
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
        throw new ConfigurationError("provider", "attach was already called: call signpostKeys for each provider");
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
      mountEndpoint(provider, endpoint, cors, tell, () => abilities.host.checkPublished());
      provider.use(answerFailures);
      requireHeaderOfHints(provider);
      const abilities = {
        activeKid: () => keys.active().keyId,
        host: askHostAlgorithms(
          provider,
          () => publishedKeys(endpoint),
          () => asked,
          tell,
        ),
        failure: (cause: unknown) => hostFailure(cause, errors),
      };
      requireSignableResourceServers(provider, abilities);
      const takesJwt = getResourceServerInfo && resourceServerCheck(abilities, getResourceServerInfo);
      const check = async (context: RequestContext, spent: Spendable): Promise<boolean> => {
        const isForJwt = await takesJwt?.(context, spent);
        const hasAsked = isForJwt !== undefined;
        if (isForJwt !== true && !takesIdToken(context, spent) && !takesAuthorizationResponse(context)) return hasAsked;
        try {
          const entry = permitted({ provider, endpoint }, keys.active().keyId);
          return (await keys.whilePublished(entry, tried.requireRecovered(entry))) || hasAsked;
        } catch (error) {
          throw abilities.failure(error);
        }
      };
      checkBeforeSpending(provider, check, abilities.failure);
      attached = { provider, endpoint };
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
