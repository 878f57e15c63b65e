// The entry point for packages that build on core: adapters, verifiers and plugs. Users only need `@signpost/core`.
export { decodedAnswer, incompleteAnswer } from "./backend/answer.ts";
export { createBriefContext } from "./backend/brief-context.ts";
export type { BriefContext } from "./backend/brief-context.ts";
export { collectResponse } from "./backend/collect-response.ts";
export type {
  CollectedResponse,
  DispatchControllerLike,
  DispatcherLike,
  HttpRequest,
  ResponseHandlerLike,
} from "./backend/collect-response.ts";
export { createAdapter } from "./backend/create-adapter.ts";
export { createAdapterSigner, openAdapterSigner, planOpening } from "./backend/open-signer.ts";
export type { AdapterSignerOptions, OpenedKey, OpeningPlan, RemoteBackend } from "./backend/open-signer.ts";
export { nameOpening, openingBounds, retryOpening } from "./backend/opening.ts";
export type { CallBounds, OpeningBounds, OpeningOptions } from "./backend/opening.ts";
export { createFileAccess } from "./backend/file-access.ts";
export { createFileConnector } from "./backend/file-connector.ts";
export type { ConnectionFiles, ConnectLike } from "./backend/file-connector.ts";
export { createOwnAgent } from "./backend/own-agent.ts";
export type { AgentLike, AgentTimes, OwnAgent } from "./backend/own-agent.ts";
export { readRegularFile } from "./backend/regular-file.ts";
export { inPoolOrHere, isPoolLate } from "./backend/late-pool.ts";
export { repeatsSecret } from "./backend/repeated-secret.ts";
export { memberOf, safeCause, textMember } from "./backend/safe-cause.ts";
export type { CauseRules } from "./backend/safe-cause.ts";
export { readEndpoint } from "./backend/service-endpoint.ts";
export type { EndpointRules, ServiceEndpoint } from "./backend/service-endpoint.ts";
export { isTlsCode } from "./backend/tls-code.ts";
export { createTrouble } from "./backend/trouble.ts";
export type { Trouble } from "./backend/trouble.ts";
export { versionDates } from "./backend/version-dates.ts";
export type { VersionDates, VersionDelays } from "./backend/version-dates.ts";
export { createVersionedKeys } from "./backend/versioned-keys.ts";
export type { VersionedKeys, VersionEntry } from "./backend/versioned-keys.ts";
export { withinDeadline } from "./backend/within-deadline.ts";
export type { Deadline } from "./backend/within-deadline.ts";
export { readCertificates } from "./certificate/read-certificates.ts";
export type { CertifiedKey } from "./certificate/read-certificates.ts";
export { singleCertificateFaults } from "./certificate/strength.ts";
export type { CertificateFault } from "./certificate/strength.ts";
export { certificateFault, firstToExpire } from "./certificate/validity.ts";
export { decodeBase64url, encodeBase64url } from "./encoding/base64url.ts";
export type { EcCurveName } from "./encoding/ec-point.ts";
export { p256JwkFrom, publicJwkFrom } from "./encoding/given-key.ts";
export { PRIVATE_JWK_MEMBERS } from "./encoding/public-jwk.ts";
export type { PublicJwk } from "./encoding/public-jwk.ts";
export { askedOf, removeOrigin, withAnyOrigin } from "./endpoint/cors.ts";
export { writeResponse } from "./endpoint/write-response.ts";
export { markErrorClass, nameSigner } from "./errors.ts";
export { followKeys } from "./host/followed-keys.ts";
export type { FollowedKeys } from "./host/followed-keys.ts";
export { idTokenFault } from "./host/id-token-fault.ts";
export { expiryReport, operatorReport } from "./host/operator-report.ts";
export type { TellOperator } from "./host/operator-report.ts";
export { publishedKeys, requirePublished } from "./host/published.ts";
export type { DocumentKey } from "./host/published.ts";
export { readSigningInput } from "./host/signing-input.ts";
export type { ReadSigningInput } from "./host/signing-input.ts";
export { createTriedSigner } from "./host/tried-signer.ts";
export type { TriedSigner } from "./host/tried-signer.ts";
export { parseHttpDate } from "./http-date.ts";
export { elapsedMs, elapsedOnBothMs, readInstant, wasFrozen } from "./instant.ts";
export type { Clocks, Instant } from "./instant.ts";
export { readOwnKeys } from "./keyset/own-keys.ts";
export type { ReadOwnKeys } from "./keyset/own-keys.ts";
export { isStillPublished, tryKeySource } from "./keyset/source.ts";
export { isLoopbackHost } from "./loopback-host.ts";
export { asConfigured } from "./options/as-configured.ts";
export { assertOptions } from "./options/assert-options.ts";
export type { OptionNames } from "./options/assert-options.ts";
export { given } from "./given.ts";
export { copiedBytes } from "./options/copied-bytes.ts";
export { nearestName } from "./options/nearest-name.ts";
export { isPlainObject } from "./options/plain-object.ts";
export {
  readCallback,
  readChoice,
  readFlag,
  readMilliseconds,
  readNumber,
  readSignal,
  readText,
  readWholeNumber,
} from "./options/read-values.ts";
export { inspectSchedule } from "./rotation/inspect.ts";
export type { InspectedKey, InspectedSchedule } from "./rotation/inspect.ts";
export { readMoment } from "./rotation/moment.ts";
export { phaseAt } from "./rotation/timeline.ts";
export type { Phase, PhaseStarts } from "./rotation/timeline.ts";
export { ArrivalQueue } from "./signer/arrival-queue.ts";
export { hasCallEnded, onCallEnd } from "./signer/call-end.ts";
export { createSigner } from "./signer/create.ts";
export type { SignerBackend } from "./signer/create.ts";
export { closedError, endedError, isOutOfTime } from "./signer/endings.ts";
export { withConcurrency } from "./signer/limiter.ts";
export { onAbort } from "./signer/on-abort.ts";
export { markPlace } from "./signer/places.ts";
export type { Place } from "./signer/places.ts";
export { readPolicy } from "./signer/policy.ts";
export type { PolicyDefaults, PolicyRules } from "./signer/policy.ts";
export { afterScheme } from "./signer/scheme.ts";
export { untilAborted } from "./signer/until-aborted.ts";
