export { createKubernetesSigner } from "./signer/create-signer.ts";
export { KubernetesRequestError } from "./errors.ts";
export type { KubernetesRequestErrorCode } from "./errors.ts";
export { createPublicJwksEndpoint } from "./signer/public-jwks.ts";
export type { PublicJwksOptions } from "./signer/public-jwks.ts";
export { runKubernetesSigner } from "./program/run.ts";
export type { RunKubernetesSignerOptions } from "./program/run.ts";
export { serveKubernetesSigner } from "./service/serve.ts";
export type { KubernetesSignerServer, ServeKubernetesSignerOptions } from "./service/serve.ts";
export type { CallReport } from "./service/events.ts";
export type {
  FetchedKey,
  FetchedKeys,
  KubernetesLegacyKey,
  KubernetesSigner,
  KubernetesSignerOptions,
  KubernetesSignOptions,
  SignedToken,
  TokenSubject,
} from "./signer-types.ts";
export type { SocketAtPath, SocketFromSystemd, SocketOptions } from "./socket/socket-options.ts";
