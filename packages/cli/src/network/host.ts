import { isLoopbackHost } from "@signpost/core/adapter";

/** Whether a URL leads to this machine. */
export function isOnLoopback(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** The host of a URL as a socket takes it: an IPv6 address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}
