export { ConfigurationError, EncodingError, SignerError, SignpostError, VerifyError } from "./errors.ts";
export type { EncodingErrorCode, SignerErrorCode } from "./errors.ts";
export { ecPointToJwk } from "./encoding/ec-point.ts";
export { ecdsaDerToRaw, ecdsaRawToDer } from "./encoding/ecdsa-signature.ts";
export { jwkToSpki, spkiToJwk } from "./encoding/spki.ts";
export { jwkThumbprint } from "./encoding/thumbprint.ts";
export type { P256PublicJwk } from "./encoding/p256-public-jwk.ts";
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
