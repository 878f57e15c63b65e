import { memberOf, textMember } from "@signpost/core/adapter";

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
  if (code === "EPROTO") return fetchFailed(handshakeError(error));
  return fetchFailed(code.startsWith("HPE_") && code !== "HPE_HEADER_OVERFLOW" ? parserError(code) : error);
}

/** OpenSSL's name of what went wrong, after the name of its function. */
const OPENSSL_REASON = /:SSL routines:[^:]*:([\w /]{1,48}):/;

/**
 * The request was written before TLS was ready, so Node reports a failed handshake as a failed write. Its code tells nothing. This
 * gives it the code that Node makes of the same reason elsewhere.
 */
function handshakeError(error: unknown): unknown {
  const reason = OPENSSL_REASON.exec(textMember(error, "message"))?.[1];
  if (reason === undefined) return error;
  const code = `ERR_SSL_${reason.toUpperCase().replaceAll(" ", "_")}`;
  return Object.assign(new Error(`the TLS handshake failed: ${reason}`), { code });
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
