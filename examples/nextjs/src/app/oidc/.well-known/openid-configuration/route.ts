import { opKeys } from "../../../../op-keys.ts";

export function GET(request: Request): Response {
  const { issuer, endpoint } = opKeys(request);
  return Response.json({ issuer, ...endpoint.metadata });
}
