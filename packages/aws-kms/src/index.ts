export { awsKms } from "./adapter.ts";
export type { AwsKmsAdapterOptions } from "./adapter.ts";
export type {
  KmsApi,
  KmsCallOptions,
  KmsClientLike,
  KmsGetPublicKeyInput,
  KmsGetPublicKeyOutput,
  KmsSignInput,
  KmsSignOutput,
} from "./api.ts";
export { openAwsKmsSigner } from "./open.ts";
export type { AwsKmsConnectionOptions, AwsKmsSignerOptions } from "./open.ts";
