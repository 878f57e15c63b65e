import { memberOf, safeCause, withinDeadline } from "@signpost/core/adapter";
import type { GcpCall, GcpSdkClient, GcpSigningClient } from "./gcp-kms.ts";

/** How much longer than its time-out a call may take. Over REST, the client waits for credentials without a limit. */
const GRACE_MS = 1000;

/** The calls of a client, each with a time limit, and with errors that do not repeat the access token. */
export function boundedCalls(client: GcpSdkClient, signal: AbortSignal): GcpSigningClient {
  const bounded =
    <Answer>(call: GcpCall<Answer>): GcpCall<Answer> =>
    async (request, options) => {
      const deadlineMs = options.timeout + GRACE_MS;
      const deadline = { deadlineMs, signal, message: `no answer within ${deadlineMs} ms` };
      try {
        return await withinDeadline(() => call.call(client, request, options), deadline);
      } catch (error) {
        throw safeCause(error, { members: ["code"], secrets: [await tokenOf(client)] });
      }
    };
  return {
    getCryptoKeyVersion: bounded(client.getCryptoKeyVersion),
    getCryptoKey: bounded(client.getCryptoKey),
    testIamPermissions: bounded(client.testIamPermissions),
    getIamPolicy: bounded(client.getIamPolicy),
    createCryptoKey: bounded(client.createCryptoKey),
    createCryptoKeyVersion: bounded(client.createCryptoKeyVersion),
    // Measured, so it is called as it is.
    asymmetricSign: (request, options) => client.asymmetricSign(request, options),
    close: () => client.close(),
  };
}

/** What the client keeps is there at once. Otherwise nothing was sent. */
const KEPT_MS = 100;

async function tokenOf({ auth }: GcpSdkClient): Promise<string | undefined> {
  const ask = memberOf(auth, "getRequestHeaders");
  if (typeof ask !== "function") return undefined;
  const asking = async (): Promise<unknown> => Reflect.apply(ask, auth, []) as unknown;
  const headers = await withinDeadline(asking, { deadlineMs: KEPT_MS }).catch(() => undefined);
  const get = memberOf(headers, "get");
  const header: unknown =
    typeof get === "function" ? Reflect.apply(get, headers, ["authorization"]) : memberOf(headers, "Authorization");
  return typeof header === "string" ? header.replace(/^Bearer\s+/i, "") : undefined;
}
