import { memberOf, textMember } from "@signpost/core/adapter";

// Something in front of the service may answer a call: a proxy, a gateway, the page of another host. The client takes the HTTP
// status of such an answer for the service's word.

/** What grpc-js says of an answer that is not gRPC. */
const OVER_GRPC = /^Received HTTP status code (\d{3})$/;

/** HTTP statuses begin here. Smaller codes are those of gRPC. */
const LEAST_STATUS = 100;

/** The HTTP status of an answer that has not the form of Google's errors. Undefined for any other error. */
export function foreignStatus(error: unknown): number | undefined {
  const code = memberOf(error, "code");
  const details = memberOf(error, "details");
  const overGrpc = typeof details === "string" ? OVER_GRPC.exec(details)?.[1] : undefined;
  if (overGrpc !== undefined) return Number(overGrpc);
  const status = memberOf(error, "httpStatusCode");
  // Over REST, 6.x reads a code and a list of details from an error of Google. It has no code for other JSON.
  if (typeof status === "number") return code === undefined || details === undefined ? status : undefined;
  // 5.x has the status as the code, and the body as the message.
  if (typeof code !== "number" || code < LEAST_STATUS) return undefined;
  return isOfGoogle(textMember(error, "message")) ? undefined : code;
}

/** Whether a body is `{ "error": { "message": … } }`. */
function isOfGoogle(body: string): boolean {
  try {
    return typeof memberOf(memberOf(JSON.parse(body), "error"), "message") === "string";
  } catch {
    return false;
  }
}
