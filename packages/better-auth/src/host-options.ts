import { ConfigurationError, type JwksEndpoint } from "@signpost/core";
import { given } from "@signpost/core/adapter";
import type { SignFunction } from "./host.ts";
import { type HostKey, noHostKeys } from "./verifying-keys.ts";

/** The options of the host's `jwt()`, with the plug's own. `jwks` changes when the host tells its URL. */
export interface HostOptions {
  readonly disableSettingJwtHeader: unknown;
  readonly jwks: { remoteUrl?: string; jwksPath?: string; readonly keyPairConfig: { readonly alg: "ES256" } };
  readonly jwt: { readonly issuer: unknown; readonly sign: SignFunction };
  readonly adapter: { readonly getJwks: () => Promise<HostKey[]>; readonly createJwk: () => Promise<never> };
}

interface Plugged {
  readonly endpoint: Pick<JwksEndpoint, "jwksUri" | "routePath">;
  readonly sign: SignFunction;
  readonly keys: () => HostKey[];
}

type Members = Readonly<Record<string, unknown>>;

/** Adds to the user's options for `jwt()` what makes the host sign and verify with the keys of the endpoint. */
export function hostOptions(options: unknown, { endpoint, sign, keys }: Plugged): HostOptions {
  const { sessionCookieCache, adapter, jwks, jwt, disableSettingJwtHeader, ...others } = membersOf("options", options);
  const { keyPairConfig, keyPairConfigs, ...own } = membersOf("options.jwks", jwks);
  refuse("options.sessionCookieCache", sessionCookieCache, "the host signs cookies only with keys of its database");
  refuse("options.adapter", adapter, "the keys come from `keys`");
  refuse("options.jwks.remoteUrl", own["remoteUrl"], "it is the `jwksUri` of the endpoint");
  refuse("options.jwks.jwksPath", own["jwksPath"], "it is the path of the endpoint");
  for (const name of ["rotationInterval", "gracePeriod", "disablePrivateKeyEncryption"]) {
    refuse(`options.jwks.${name}`, own[name], "the host makes no keys, and `keys` decides on rotation");
  }
  requireEs256("options.jwks.keyPairConfig", keyPairConfig);
  for (const config of Array.isArray(keyPairConfigs) ? keyPairConfigs : []) {
    requireEs256("options.jwks.keyPairConfigs", config);
  }
  const token = membersOf("options.jwt", jwt);
  refuse("options.jwt.sign", token["sign"], "the plug signs");
  return {
    ...others,
    // Otherwise each read of a session would cost a signature, and fail while the key is unavailable.
    disableSettingJwtHeader: disableSettingJwtHeader ?? true,
    // The host refuses `sign` without a URL that is not its own.
    jwks: { remoteUrl: endpoint.jwksUri, keyPairConfig: { alg: "ES256" } },
    jwt: { ...token, issuer: token["issuer"] ?? issuerOf(endpoint), sign },
    adapter: { getJwks: async () => keys(), createJwk: refuseKey },
  };
}

async function refuseKey(): Promise<never> {
  throw noHostKeys();
}

/** The issuer that RPs derive the URL of the key set from. */
function issuerOf({ jwksUri, routePath }: Plugged["endpoint"]): string {
  return jwksUri.slice(0, -routePath.length);
}

export function requireEs256(argument: string, config: unknown): void {
  const { alg }: { readonly alg?: unknown } = Object(config);
  if (alg === undefined || alg === "ES256") return;
  throw new ConfigurationError(
    `${argument}.alg`,
    `expected "ES256", the only algorithm of Signpost, got ${JSON.stringify(alg)}`,
  );
}

function refuse(argument: string, value: unknown, reason: string): void {
  if (value === undefined || value === false) return;
  throw new ConfigurationError(argument, `not allowed: ${reason}`);
}

function membersOf(argument: string, value: unknown): Members {
  if (value === undefined) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw new ConfigurationError(argument, `expected an object, got ${given(value)}`);
}
