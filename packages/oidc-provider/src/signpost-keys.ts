import { ConfigurationError, signWith, type KeySetSource, type SignWithOptions } from "@signpost/core";
import { answerFailures, hostFailure, unknownKid } from "./failure.ts";
import {
  ACKNOWLEDGED_HOOK,
  type HostErrors,
  type HostProvider,
  type HostSigningKeyClass,
  requireKnownHook,
} from "./host.ts";
import { signingKey, verifyingPlace } from "./host-keys.ts";
import { liveKeys, type ScheduleLike } from "./live-keys.ts";
import { type JwksListener, mountJwks } from "./mount-jwks.ts";

export interface SignpostKeysOptions<Key extends object> {
  /** The host's own class: `import { ExternalSigningKey } from "oidc-provider"`. */
  readonly ExternalSigningKey: HostSigningKeyClass<Key>;
  /** The host's own errors: `import { errors } from "oidc-provider"`. */
  readonly errors: HostErrors;
  /** A key set, a function that returns the current one, or a rotation schedule. */
  readonly keys: KeySetSource | ScheduleLike;
  /**
   * How many keys beside the active one can verify an `id_token_hint` at once: announced, retiring and withdrawn ones. The host fixes this number when it is constructed. Default 16; 0 to 256.
   */
  readonly verifyingKeys?: number | undefined;
  /** As for `signWith`. Default `"always"`. */
  readonly verify?: SignWithOptions["verify"];
}

export interface SignpostKeys<Key extends object> {
  /** For the host's configuration. */
  readonly jwks: { readonly keys: Key[] };
  /** To be spread into the host's `features`. */
  readonly features: { readonly externalSigningSupport: { readonly enabled: true; readonly ack: string } };
  /** To be spread into the host's `clientDefaults`: its own defaults of RS256 would break each client. */
  readonly clientDefaults: {
    readonly id_token_signed_response_alg: "ES256";
    readonly authorization_signed_response_alg: "ES256";
    readonly introspection_signed_response_alg: "ES256";
  };
  /** Serves `endpoint` as the provider's JWKS, and lets failures reach clients as OAuth errors. Call it once, right after construction. */
  attach(provider: HostProvider, endpoint: JwksListener): void;
}

/**
 * What the host needs to sign with a key set or a schedule, with live rotation: keys that appear later sign, and
 * verify hints, without a new Provider.
 *
 * ```ts
 * import Provider, { errors, ExternalSigningKey } from "oidc-provider";
 * import { createJwksEndpoint, createKeySet, type Signer } from "@signpost/core";
 * import { signpostKeys } from "@signpost/oidc-provider";
 *
 * declare const signer: Signer;
 * const issuer = "https://op.example";
 * const keys = createKeySet([{ signer }]);
 * const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
 * const provider = new Provider(issuer, {
 *   jwks: signpost.jwks,
 *   features: { ...signpost.features },
 *   clientDefaults: { ...signpost.clientDefaults },
 * });
 * signpost.attach(provider, createJwksEndpoint({ issuer, keyset: keys }));
 * ```
 *
 * @throws ConfigurationError when the host's hook is not the one that this package was made for.
 */
export function signpostKeys<Key extends object>(options: SignpostKeysOptions<Key>): SignpostKeys<Key> {
  const { ExternalSigningKey: hostClass, errors, verifyingKeys = 16, verify } = options;
  requireKnownHook(hostClass, errors);
  if (!Number.isSafeInteger(verifyingKeys) || verifyingKeys < 0 || verifyingKeys > 256) {
    throw new ConfigurationError("verifyingKeys", "expected a whole number from 0 to 256");
  }
  const keys = liveKeys(options.keys);
  let attachedTo: HostProvider | undefined;

  const sign = async (data: Uint8Array): Promise<Uint8Array> => {
    try {
      if (attachedTo === undefined) {
        throw new ConfigurationError("provider", "expected attach(provider, endpoint) before the first token");
      }
      const entry = keys.signing(kidOf(data));
      if (entry === undefined) throw unknownKid();
      return await signWith(entry, data, { verify });
    } catch (error) {
      throw hostFailure(error, errors);
    }
  };
  const places = Array.from({ length: verifyingKeys }, (_, index) =>
    verifyingPlace(hostClass, keys, index, () => attachedTo !== undefined),
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
      if (attachedTo !== undefined)
        throw new ConfigurationError("provider", "expected to be attached once: make keys for each provider");
      provider.use(answerFailures);
      mountJwks(provider, endpoint);
      attachedTo = provider;
    },
  };
}

/** The kid of the header that the host wrote in front of the payload. */
function kidOf(signingInput: Uint8Array): string {
  const [header = ""] = Buffer.from(signingInput).toString("latin1").split(".", 1);
  const { kid } = JSON.parse(Buffer.from(header, "base64url").toString("utf8")) as { kid?: unknown };
  if (typeof kid !== "string") throw unknownKid();
  return kid;
}
