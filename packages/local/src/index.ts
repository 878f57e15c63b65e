export { local } from "./adapter.ts";
export { openLocalSigner } from "./open.ts";
export type { LocalSignerOptions } from "./open.ts";
export type { PrivateJwkInput, PrivateJwkMembers } from "./private-key.ts";
