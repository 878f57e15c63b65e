export { RP_SIGNING_ALGORITHMS } from "./client/algorithms.ts";
export type { RpSigningAlgorithm } from "./client/algorithms.ts";
export { verifyClientAssertion } from "./client/client-assertion.ts";
export type { ClientAssertionOptions, VerifiedClientAssertion } from "./client/client-assertion.ts";
export type { ClientJwsOptions } from "./client/client-jws-options.ts";
export { createClientKeySets } from "./client/client-key-sets.ts";
export type { ClientKeys, ClientKeySets, ClientKeySetsOptions } from "./client/client-key-sets.ts";
export { verifyRequestObject } from "./client/request-object.ts";
export type { RequestObjectOptions, VerifiedRequestObject } from "./client/request-object.ts";
// The base class of the two below, and the class for mistakes in options, so that callers need only this package to catch them.
export { ConfigurationError, VerifyError } from "@signpost/core";
export { KeySetError, TokenError } from "./errors.ts";
export type { KeySetErrorCode, KeySetErrorOptions, TokenErrorCode } from "./errors.ts";
export type { FetchOutcome, FetchReason } from "./http/cached-resource.ts";
export { createPublicDispatcher } from "./http/public-dispatcher.ts";
export type { LookupLike } from "./http/guarded-lookup.ts";
export type { PublicDispatcherOptions } from "./http/public-dispatcher.ts";
export type { FetchResponseLike, FetchInit, FetchLike } from "./http/request.ts";
export type { KeyFunction } from "./jwk/key-function.ts";
export { JWT_ALGORITHMS } from "./token/algorithms.ts";
export type { JwtAlgorithm } from "./token/algorithms.ts";
export type { VerifyAccessTokenOptions, VerifyIdTokenOptions } from "./jwt/call-options.ts";
export type { AccessTokenClaims, IdTokenClaims, JwtCommonClaims, JwtHeader } from "./jwt/claims.ts";
export { createJwtVerifier } from "./jwt/create-jwt-verifier.ts";
export type { AccessTokenVerifier, IdTokenVerifier, VerifiedJwt } from "./jwt/create-jwt-verifier.ts";
export type { AccessTokenVerifierOptions, IdTokenVerifierOptions, JwtVerifierCommon } from "./jwt/verifier-options.ts";
export type { DropReason } from "./jwk/parse-jwk.ts";
export type { KeyFault } from "./jwk/public-jwk.ts";
export { createStaticKeySet } from "./jwk/static-key-set.ts";
export type { StaticKeyFunction, StaticKeySetOptions } from "./jwk/static-key-set.ts";
export { createOwnKeySet } from "./own/own-key-set.ts";
export type { OwnKeyFunction, OwnKeySetOptions } from "./own/own-key-set.ts";
export type {
  AccessTokenOptions,
  IdTokenHintOptions,
  LogoutTokenOptions,
  VerifyOwnJwtOptions,
  OwnJwtCommon,
} from "./own/own-jwt-options.ts";
export { verifyOwnJwt } from "./own/verify-own-jwt.ts";
export type { VerifiedOwnJwt } from "./own/verify-own-jwt.ts";
export { discoverKeySet } from "./remote/discover-key-set.ts";
export type { DiscoveredKeyFunction, DiscoveredKeySetStats } from "./remote/discover-key-set.ts";
export type { FetchedKeyFunction, FetchNowOptions } from "./remote/fetched-key-function.ts";
export { KEY_SET_CHANNEL } from "./remote/events.ts";
export type { KeySetEvent } from "./remote/events.ts";
export type { RemoteKeySetOptions } from "./remote/options.ts";
export { createRemoteKeySet } from "./remote/remote-key-set.ts";
export type { RemoteKeyFunction, RemoteKeySetStats } from "./remote/remote-key-set.ts";
export type { FetchCounters } from "./remote/remote-resource.ts";
export { createMemoryReplayStore } from "./replay/memory-replay-store.ts";
export type { MemoryReplayStoreOptions } from "./replay/memory-replay-store.ts";
export { createRedisReplayStore } from "./replay/redis-replay-store.ts";
export type { RedisClientLike, RedisReplayStoreOptions } from "./replay/redis-replay-store.ts";
export type { ReplayClaimOptions, ReplayStore } from "./replay/replay-store.ts";
export type { TimeOptions } from "./token/claims.ts";
