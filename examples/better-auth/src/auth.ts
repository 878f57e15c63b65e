import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { APIError } from "better-auth/api";
import { jwt } from "better-auth/plugins";
import { oauthProvider } from "@better-auth/oauth-provider";
import { createJwksEndpoint, type RotationSchedule } from "@signpost/core";
import { signpostJwt } from "@signpost/better-auth";

export interface Auth {
  handler(request: Request): Promise<Response>;
}

/** An OpenID Provider whose tokens are signed with the keys of a schedule. Its users are in memory. */
export function createAuth(issuer: string, secret: string, keys: RotationSchedule): Auth {
  const endpoint = createJwksEndpoint({ issuer, mountPrefix: "/api/auth", keys });
  return betterAuth({
    baseURL: issuer,
    secret,
    database: memoryAdapter(Object.fromEntries(TABLES.map((name) => [name, []]))),
    emailAndPassword: { enabled: true },
    plugins: [
      signpostJwt({ jwt, APIError, keys, endpoint }),
      oauthProvider({
        loginPage: "/login",
        consentPage: "/consent",
        // Not longer than the schedule's maxTokenLifetimeSeconds.
        idTokenExpiresIn: 3600,
        // The types of the two packages do not fit each other with exactOptionalPropertyTypes.
      }) as never,
    ],
  });
}

const TABLES = [
  "user",
  "session",
  "account",
  "verification",
  "jwks",
  "oauthClient",
  "oauthResource",
  "oauthClientResource",
  "oauthRefreshToken",
  "oauthAccessToken",
  "oauthConsent",
  "oauthClientAssertion",
];
