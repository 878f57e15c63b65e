export { gcpKms } from "./adapter.ts";
export type { GcpKmsAdapterOptions } from "./adapter.ts";
export type {
  GcpKmsCallOptions,
  GcpKmsChecksum,
  GcpKmsClientLike,
  GcpKmsGrpcCall,
  GcpKmsInterceptor,
  GcpKmsPublicKeyResponse,
  GcpKmsSignRequest,
  GcpKmsSignResponse,
  GcpKmsVersionResponse,
} from "./api.ts";
export type { GcpKmsConnectionOptions, GcpKmsTransport } from "./client.ts";
export { openGcpKmsSigner } from "./open.ts";
export type { GcpKmsSignerOptions } from "./open.ts";
export { listGcpKmsKeyVersions } from "./versions.ts";
export type { GcpKmsKeyVersion, ListGcpKmsKeyVersionsOptions } from "./versions.ts";
