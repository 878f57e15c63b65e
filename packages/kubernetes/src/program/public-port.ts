import { ConfigurationError, type RotationSchedule } from "@signpost/core";
import { readText, readWholeNumber } from "@signpost/core/adapter";
import type { ConfigPublicJwks } from "../config/config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { createPublicJwksEndpoint } from "../signer/public-jwks.ts";
import type { HttpPlace } from "./http-port.ts";
import type { JwksEndpoint } from "@signpost/core";

const MAX_PORT = 65_535;

/** Where the key set is served for everyone. */
export function readPublicPlace({ host = "127.0.0.1", port }: ConfigPublicJwks): HttpPlace {
  return {
    place: "publicJwks",
    host: readText("publicJwks.host", host),
    port: readWholeNumber("publicJwks.port", port, 0, MAX_PORT),
  };
}

/** The endpoint of a configuration. Undefined if it has none. */
export function publicEndpoint(
  { config, legacyKeys }: LoadedConfig,
  keys: RotationSchedule,
  onError: (error: unknown) => void,
): JwksEndpoint | undefined {
  const { publicJwks, issuer } = config;
  if (publicJwks === undefined) return undefined;
  try {
    return createPublicJwksEndpoint({
      issuer: publicJwks.issuer ?? issuer,
      endpoints: { jwks: publicJwks.path ?? "/openid/v1/jwks" },
      keys,
      legacyKeys,
      onError,
    });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError("publicJwks", error.message, { cause: error, code: error.code });
  }
}
