export { ConfigurationError, EncodingError, SignerError, SignpostError, VerifyError } from "./errors.ts";
export type { EncodingErrorCode, SignerErrorCode, SignerErrorOptions, VerifyErrorOptions } from "./errors.ts";
export { ecPointToJwk } from "./encoding/ec-point.ts";
export type { EcCurveName, P256PublicJwk } from "./encoding/ec-point.ts";
export { ecdsaDerToRaw, ecdsaRawToDer } from "./encoding/ecdsa-signature.ts";
export { jwkToSpki, spkiToJwk } from "./encoding/spki.ts";
export { jwkThumbprint } from "./encoding/thumbprint.ts";
export type { JwkInput, JwkMembers, PublicJwk } from "./encoding/public-jwk.ts";
export type {
  AdapterOpenOptions,
  GuardedSigner,
  GuardPolicy,
  Limiter,
  Signer,
  SignerAdapter,
  SignerHealth,
  SignOptions,
} from "./signer/contract.ts";
export { SIGN_CHANNEL } from "./signer/events.ts";
export type { SignEvent } from "./signer/events.ts";
export { failoverSigner } from "./signer/failover.ts";
export { guardSigner } from "./signer/guard.ts";
export type { GuardDetails } from "./signer/guard.ts";
export type { SignerStatus } from "./signer/health.ts";
export { createLimiter } from "./signer/limiter.ts";
export type { LimiterOptions } from "./signer/limiter.ts";
export type { LimiterRateOptions } from "./signer/token-bucket.ts";
export type { PolicyDefaults } from "./signer/policy.ts";
export { openSigner } from "./signer/open.ts";
export type { OpenSignerOptions } from "./signer/open.ts";
export { signJws } from "./signing/jws.ts";
export type { SignJwsOptions } from "./signing/jws.ts";
export { signJwt } from "./signing/jwt.ts";
export type { JwtClaims, SignJwtOptions } from "./signing/jwt.ts";
export { signWith } from "./signing/sign-with.ts";
export type { SignWithOptions } from "./signing/sign-with.ts";
export type { CertificateBundle } from "./certificate/read-bundle.ts";
export type {
  CertificateMember,
  CertificateValidity,
  EntryCertificates,
  KeyCertificates,
} from "./certificate/read-certificates.ts";
export { clientAuthentication } from "./client/client-authentication.ts";
export type { ClientAuthentication, ClientAuthenticationOptions } from "./client/client-authentication.ts";
export type { ClientJwtOptions } from "./client/client-jwt.ts";
export { signRequestObject } from "./client/request-object.ts";
export type { SignRequestObjectOptions } from "./client/request-object.ts";
export { createInputSigner } from "./host/input-signer.ts";
export type { InputSigner, InputSignerOptions } from "./host/input-signer.ts";
export { createJwksEndpoint } from "./endpoint/create-jwks-endpoint.ts";
export type { JwksEndpoint, JwksEndpointOptions, JwksMetadata } from "./endpoint/create-jwks-endpoint.ts";
export type { PreflightHeaders } from "./endpoint/cors.ts";
export type { WeakIfNoneMatch } from "./endpoint/if-none-match.ts";
export type { JwksResponse } from "./endpoint/respond.ts";
export type { NodeRequest, NodeResponse } from "./endpoint/node-messages.ts";
export { requestPath } from "./endpoint/request-path.ts";
export type { EndpointPaths, RouteOptions } from "./endpoint/routes.ts";
export { createKeySet } from "./keyset/create-key-set.ts";
export type { KeySetOptions } from "./keyset/create-key-set.ts";
export { serializeJwks } from "./keyset/serialize.ts";
export { currentKeySet } from "./keyset/source.ts";
export type {
  ActiveKey,
  EncryptionKey,
  JwksDocument,
  KeyRole,
  KeySet,
  KeySetEntry,
  KeySetSource,
  LegacyKey,
  OwnKeys,
  PublishedKey,
  RotationSchedule,
} from "./keyset/types.ts";
export { emergencyRotation } from "./rotation/emergency.ts";
export type { EmergencyOptions, EmergencyRotation } from "./rotation/emergency.ts";
export type { RotationScheduleOptions } from "./rotation/schedule-options.ts";
export { createRotationSchedule } from "./rotation/schedule.ts";
export type { ScheduledEntry } from "./rotation/scheduled-entry.ts";
export { rotationWindow } from "./rotation/window.ts";
export type { RotationWindowOptions } from "./rotation/window.ts";
