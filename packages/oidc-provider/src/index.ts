export type { HostContext, HostErrors, HostProvider, HostSigningKeyClass } from "./host.ts";
export type { ScheduleLike } from "./live-keys.ts";
export { mountJwks } from "./mount-jwks.ts";
export type { JwksListener } from "./mount-jwks.ts";
export { signpostKeys } from "./signpost-keys.ts";
export type { SignpostKeys, SignpostKeysOptions } from "./signpost-keys.ts";
