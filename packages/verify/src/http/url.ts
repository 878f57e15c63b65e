import { ConfigurationError } from "@signpost/core";
import { given, isLoopbackHost } from "@signpost/core/adapter";

/**
 * The URL of a key set or discovery document: `https:`, or `http:` on a loopback host if the caller allows it. Credentials in a URL
 * would end up in logs, and a fragment never reaches the server.
 */
export function checkedUrl(argument: string, value: string | URL, allowInsecureLoopback: boolean): URL {
  const url = parsed(argument, value);
  if (url.username !== "" || url.password !== "")
    throw new ConfigurationError(argument, "expected a URL without credentials");
  // An empty fragment too: a path that is added after it would never reach the server.
  if (url.href.includes("#")) throw new ConfigurationError(argument, "expected a URL without a fragment");
  if (url.protocol === "https:") return url;
  if (url.protocol === "http:" && allowInsecureLoopback && isLoopbackHost(url.hostname)) return url;
  const shown = url.protocol === "http:" ? url.origin : "a URL of another scheme";
  throw new ConfigurationError(
    argument,
    `${allowInsecureLoopback ? "expected an https URL, or http on a loopback host" : "expected an https URL"}, got ${shown}`,
  );
}

function parsed(argument: string, value: string | URL): URL {
  try {
    return new URL(value);
  } catch {
    // No cause: it quotes the URL, which may contain credentials.
    throw new ConfigurationError(argument, `expected an absolute URL, got ${given(value)}`);
  }
}

/** Origin and path. A query may contain secrets. */
export function printableUrl(url: URL): string {
  return url.origin + url.pathname;
}
