export { awsKms } from "./adapter.ts";
export type { AwsKmsAdapterOptions } from "./adapter.ts";
export type {
  AwsKmsApi,
  AwsKmsCallOptions,
  AwsKmsClientLike,
  AwsKmsGetPublicKeyInput,
  AwsKmsGetPublicKeyOutput,
  AwsKmsSignInput,
  AwsKmsSignOutput,
} from "./api.ts";
export type { AwsKmsConnectionOptions } from "./client.ts";
export { openAwsKmsSigner } from "./open.ts";
export type { AwsKmsSignerOptions } from "./open.ts";
