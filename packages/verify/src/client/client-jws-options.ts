import { ConfigurationError } from "@signpost/core";
import { given, readFlag, readNumber, readText } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { TimeOptions, TimeRules } from "../token/claims.ts";
import { TIME_OPTIONS, timeRules } from "../token/claims.ts";
import type { RpSigningAlgorithm } from "./algorithms.ts";
import { RP_SIGNING_ALGORITHMS } from "./algorithms.ts";

/** Options for a JWT that a client signed: an assertion or a request object. */
export interface ClientJwsOptions extends TimeOptions {
  /** This OP's issuer. It is the only accepted `aud`, unless other options say otherwise. */
  readonly issuer: string;
  /**
   * At least one accepted algorithm, such as the client's `token_endpoint_auth_signing_alg` or `request_object_signing_alg`.
   * Default `RP_SIGNING_ALGORITHMS`.
   */
  readonly algorithms?: readonly RpSigningAlgorithm[] | undefined;
  /**
   * Maximum time from `iat`, and from now, to `exp`. For a request object also from `nbf`. Seconds, 1 to 86,400. Default: 300 for an
   * assertion. None for a request object, and then `exp` is optional.
   */
  readonly maxLifetimeSeconds?: number | undefined;
  /**
   * Accepts only a `typ` that says what the JWT is for (RFC 8725 section 3.11): `client-authentication+jwt` for an assertion,
   * `oauth-authz-req+jwt` for a request object. Many clients send `JWT` or none. Default false.
   */
  readonly strictTyp?: boolean | undefined;
}

export const CLIENT_JWS_OPTIONS: OptionNames<ClientJwsOptions> = {
  ...TIME_OPTIONS,
  issuer: true,
  algorithms: true,
  maxLifetimeSeconds: true,
  strictTyp: true,
};

/** The options, checked. */
export interface ClientJwsRules {
  readonly issuer: string;
  readonly algorithms: readonly string[];
  readonly maxLifetimeSeconds: number | undefined;
  /** Also accepts `JWT` and a missing `typ`. */
  readonly anyTyp: boolean;
  readonly readTime: () => TimeRules;
}

export function readClientJwsOptions(options: ClientJwsOptions): ClientJwsRules {
  const { maxLifetimeSeconds } = options;
  return {
    issuer: readText("issuer", options.issuer),
    algorithms: readAlgorithms(options.algorithms),
    maxLifetimeSeconds:
      maxLifetimeSeconds === undefined ? undefined : readNumber("maxLifetimeSeconds", maxLifetimeSeconds, 1, 86_400),
    anyTyp: !readFlag("strictTyp", options.strictTyp),
    readTime: timeRules(options),
  };
}

function describeAlgorithms(value: unknown): string {
  if (!Array.isArray(value)) return given(value);
  return value.length === 0 ? "an empty list" : "a list with another value";
}

function readAlgorithms(value: unknown = RP_SIGNING_ALGORITHMS): readonly string[] {
  const known: readonly unknown[] = RP_SIGNING_ALGORITHMS;
  if (!Array.isArray(value) || value.length === 0 || !value.every((alg) => known.includes(alg))) {
    throw new ConfigurationError(
      "algorithms",
      `expected a list of at least one of ${known.join(", ")}, got ${describeAlgorithms(value)}`,
    );
  }
  return value;
}
