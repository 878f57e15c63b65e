import { ConfigurationError } from "@signpost/core";
import { type OidcProviderSigningLike, requestContext } from "./host.ts";
import type { JwksEndpointLike } from "./mount-jwks.ts";

/** What a plug signs for, and where its keys are published. */
export interface Attached {
  readonly provider: OidcProviderSigningLike;
  readonly endpoint: JwksEndpointLike;
}

/**
 * Refuses to sign for a second provider that was constructed with the same keys. It would not publish keys that are added
 * later. The issuer tells the providers apart. If the OP has put another issuer into the token, or both providers have the
 * same one, the current request does.
 */
export function requireAttached(provider: OidcProviderSigningLike, issuer: unknown): void {
  const answering = requestContext(provider)?.oidc?.provider;
  if (answering === provider) return;
  // Outside of requests, a token without an issuer belongs to the attached provider.
  const isOther = issuer !== provider.issuer && (issuer !== undefined || answering !== undefined);
  // Another provider of the same issuer is answering this request, and must use its own keys.
  const isTwin = (answering as Partial<OidcProviderSigningLike> | undefined)?.issuer === provider.issuer;
  if (!isOther && !isTwin) return;
  const problem = `these keys are attached to the provider of ${provider.issuer}: call signpostKeys and attach for each provider`;
  throw new ConfigurationError("provider", problem);
}

/** The endpoint may not be mounted, and then the kid of the tokens would not be published anywhere. */
export function unserved(): ConfigurationError {
  const problem =
    "the plug has not seen a request yet, or not this one: call attach before provider.callback(), and before the provider is " +
    "mounted. In a process that serves no requests: attach(provider, endpoint, { servesRequests: false })";
  return new ConfigurationError("servesRequests", problem);
}
