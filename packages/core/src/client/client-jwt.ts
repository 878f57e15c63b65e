import { randomBytes } from "node:crypto";
import type { OptionNames } from "../options/assert-options.ts";
import { readCallback, readChoice, readWholeNumber } from "../options/read-values.ts";
import type { SignWithOptions } from "../signing/sign-with.ts";

/** Options of the JWTs that a client signs for an authorization server. */
export interface ClientJwtOptions {
  /** Seconds from `iat` to `exp`. Default 60, 1 to 300. */
  readonly lifetimeSeconds?: number | undefined;
  /** `"always"` (default) verifies each signature. `"first"` stops verifying after the first good one. */
  readonly verify?: SignWithOptions["verify"];
  /** The clock, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

export const CLIENT_JWT_OPTIONS: OptionNames<ClientJwtOptions> = { lifetimeSeconds: true, verify: true, now: true };

export interface ReadClientJwtOptions {
  readonly verify: "always" | "first";
  /** The claims of one JWT that make it short-lived, and unlike any other. */
  readonly oneTimeClaims: () => OneTimeClaims;
}

export interface OneTimeClaims {
  readonly jti: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
}

const DEFAULT_LIFETIME_SECONDS = 60;
/** Authorization servers commonly accept no more. */
const MAX_LIFETIME_SECONDS = 300;
/** 128 random bits never repeat. */
const JTI_BYTES = 16;

export function readClientJwtOptions(options: ClientJwtOptions): ReadClientJwtOptions {
  const { lifetimeSeconds = DEFAULT_LIFETIME_SECONDS, verify = "always" } = options;
  const now = readCallback("now", options.now) ?? Date.now;
  const lifetime = readWholeNumber("lifetimeSeconds", lifetimeSeconds, 1, MAX_LIFETIME_SECONDS);
  return {
    verify: readChoice<"always" | "first">("verify", verify, ["always", "first"]),
    oneTimeClaims: () => {
      const iat = Math.floor(now() / 1000);
      return { jti: randomBytes(JTI_BYTES).toString("base64url"), iat, nbf: iat, exp: iat + lifetime };
    },
  };
}
