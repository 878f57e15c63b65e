import { signJwt } from "@signpost/core";
import { opKeys } from "../../../op-keys.ts";

/** Stands for the token endpoint of an OP. It signs with the keys that the other route publishes. */
export async function POST(request: Request): Promise<Response> {
  const { issuer, keys } = opKeys(request);
  const exp = Math.floor(Date.now() / 1000) + 300;
  return Response.json({ id_token: await signJwt(keys, { iss: issuer, sub: "248289761001", aud: "rp", exp }) });
}
