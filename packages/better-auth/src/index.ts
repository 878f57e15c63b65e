export type { ApiErrorClassLike, JwtFunctionLike, JwtPluginLike } from "./host.ts";
export { signpostJwt } from "./signpost-jwt.ts";
export type { SignpostJwtOptions } from "./signpost-jwt.ts";
