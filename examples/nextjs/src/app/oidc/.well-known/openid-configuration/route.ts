import { opKeys } from "../../../../op-keys.ts";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

export function GET(): Response {
  const { issuer, endpoint } = opKeys();
  return Response.json({ issuer, ...endpoint.metadata });
}
