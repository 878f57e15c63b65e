import type { KMSClient } from "@aws-sdk/client-kms";
import { isLoopbackHost } from "@signpost/core/adapter";
import { CredentialsError } from "./credential-errors.ts";
import { NO_CREDENTIALS } from "./error-table.ts";

type RequestHandler = KMSClient["config"]["requestHandler"];

/**
 * Makes the handler refuse plain http, except on the loopback interface. The endpoint of KMS was checked before. But the
 * SDK's STS and SSO clients use the same handler, and a variable or a profile may name their endpoints.
 */
export function refuseInsecureRequests(handler: RequestHandler): void {
  const handle = handler.handle.bind(handler);
  handler.handle = async (request, options) => {
    if (request.protocol !== "https:" && !isLoopbackHost(request.hostname)) throw insecure(request.hostname);
    return handle(request, options);
  };
}

function insecure(hostname: string): CredentialsError {
  const text = `${NO_CREDENTIALS.text}: expected https, or http on the loopback interface, or allowInsecureEndpoint: true, for ${hostname}`;
  return new CredentialsError({ code: "access_denied", text }, undefined);
}
