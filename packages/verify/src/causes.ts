import { memberOf } from "@signpost/core/adapter";

/** How many nested causes are followed. */
const MAX_DEPTH = 8;

/**
 * An error and its causes, the outermost first. Of several errors for several addresses, only the first. It looks at members and not
 * at classes, because tests may run in a separate realm (as under Jest), where network errors have other classes.
 */
export function* causesOf(error: unknown): Iterable<unknown> {
  let current = error;
  for (let depth = 0; depth < MAX_DEPTH && typeof current === "object" && current !== null; depth += 1) {
    yield current;
    const errors = memberOf(current, "errors");
    current = memberOf(current, "cause") ?? (Array.isArray(errors) ? (errors[0] as unknown) : undefined);
  }
}

/** Messages of errors without a code. undici has this one for the ports that the Fetch standard blocks, such as 6000 and 10080. */
const TELLING_MESSAGES: ReadonlySet<unknown> = new Set(["bad port"]);

/** What a dispatcher of undici 8 or newer says about the handlers of undici 7. Its code names no argument. */
const OTHER_UNDICI = /^invalid on\w+ method$/;

/** What undici's ProxyAgent says, with a code that reads as if the request had been aborted. */
const PROXY_ANSWER = /^Proxy response \((\d{3})\) /;

/** Names that carry no information. */
const ANY_ERROR: ReadonlySet<unknown> = new Set(["Error", "TypeError", "AggregateError"]);

/**
 * The innermost code in a chain of causes, such as ECONNREFUSED or CERT_HAS_EXPIRED. Without a code, the innermost name, such as
 * HTTPParserError or TimeoutError. An HTTP client wraps it in "fetch failed". Other messages are not repeated, because they may
 * contain the full URL.
 */
export function reasonOf(error: unknown): string | undefined {
  const causes = [...causesOf(error)];
  const message = memberOf(causes.at(-1), "message");
  if (typeof message === "string" && TELLING_MESSAGES.has(message)) return message;
  if (OTHER_UNDICI.test(String(message)))
    return "the dispatcher is not of undici 7; pass a fetch that uses it, from the same undici";
  const proxyStatus = PROXY_ANSWER.exec(String(message))?.[1];
  if (proxyStatus !== undefined) return `the proxy answered with status ${proxyStatus}`;
  const codes = causes.map((cause) => memberOf(cause, "code")).filter(isWord);
  const names = causes.map((cause) => memberOf(cause, "name")).filter(isWord);
  return codes.at(-1) ?? names.findLast((name) => !ANY_ERROR.has(name));
}

/** Since OpenSSL 3.2, some codes of TLS contain a slash: ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE. */
const WORD = /^(?:ERR_SSL_SSL\/)?\w{1,64}$/;

function isWord(value: unknown): value is string {
  return typeof value === "string" && WORD.test(value);
}
