import { memberOf } from "@signpost/core/adapter";

// The errors of node:http, in the form and the words of undici. So one rule reads both, and an operator sees the same reason.

/** What undici's `fetch` throws for the ports that the Fetch standard blocks. */
export function badPort(): Error {
  return fetchFailed(new Error("bad port"));
}

/** `bytesRead` tells a kept connection, which has answered before, from a new one. */
export function closedConnection(bytesRead: number): Error {
  return fetchFailed(Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET", socket: { bytesRead } }));
}

/** The error of a request that has no answer, or whose answer was cut. */
export function requestError(error: unknown, bytesRead: number): Error {
  if (wasClosed(error)) return closedConnection(bytesRead);
  const code = String(memberOf(error, "code"));
  return fetchFailed(code.startsWith("HPE_") && code !== "HPE_HEADER_OVERFLOW" ? parserError(code) : error);
}

/** Node's error contains the bytes of the answer. */
function parserError(code: string): Error {
  const error = new Error(`the answer is not HTTP (${code})`);
  error.name = "HTTPParserError";
  return error;
}

/** Without an error of the system: the other side closed the connection as usual, only too early. */
function wasClosed(error: unknown): boolean {
  const code = memberOf(error, "code");
  if (code === "ERR_STREAM_PREMATURE_CLOSE") return true;
  // In a TLS handshake, the error names the host.
  return code === "ECONNRESET" && memberOf(error, "syscall") === undefined && memberOf(error, "host") === undefined;
}

function fetchFailed(cause: unknown): Error {
  return new TypeError("fetch failed", { cause });
}
