import type { IncomingMessage } from "node:http";
import type { RotationSchedule } from "@signpost/core";
import { createOwnKeySet, VerifyError, verifyOwnJwt } from "@signpost/verify";
import type { Answer } from "./http.ts";

/** Verifies the OP's own access tokens by the same rules as any other verifier. */
export function createUserinfo(
  issuer: string,
  audience: string,
  keys: RotationSchedule,
): (request: IncomingMessage) => Promise<Answer> {
  const keyFunction = createOwnKeySet(keys);
  return async (request) => {
    const [, token = ""] = /^Bearer ([\w.-]+)$/i.exec(request.headers.authorization ?? "") ?? [];
    try {
      const { claims } = await verifyOwnJwt(token, { purpose: "access_token", keyFunction, issuer, audience });
      return { status: 200, json: { sub: claims["sub"] } };
    } catch (error) {
      if (!(error instanceof VerifyError)) throw error;
      const headers = { "WWW-Authenticate": 'Bearer error="invalid_token"' };
      return { status: 401, json: { error: "invalid_token" }, headers };
    }
  };
}
