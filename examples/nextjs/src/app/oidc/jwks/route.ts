import { opKeys } from "../../../op-keys.ts";

const serve = (request: Request): Response => opKeys(request).endpoint.fetch(request);
export { serve as GET, serve as HEAD, serve as OPTIONS, serve as POST, serve as PUT, serve as PATCH, serve as DELETE };
