import { opKeys } from "../../../op-keys.ts";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

const serve = (request: Request): Response => opKeys().endpoint.fetch(request);
export { serve as GET, serve as HEAD, serve as OPTIONS, serve as POST, serve as PUT, serve as PATCH, serve as DELETE };
