import { ConfigurationError } from "@signpost/core";

const SCHEME = "gcpkms://";

/** The resource name in `gcpkms://projects/…`, as it stands there. Nothing is decoded: no id has a character that needs it. */
export function parseKeyUri(uri: string): string {
  // RFC 3986 section 3.1: a scheme is the same in capitals. The name is not.
  if (uri.slice(0, SCHEME.length).toLowerCase() === SCHEME) return uri.slice(SCHEME.length);
  throw new ConfigurationError("uri", `expected a key URI that begins with ${SCHEME}projects/`);
}

/** The canonical URI of an opened version. */
export function formatKeyUri(keyVersion: string): string {
  return `${SCHEME}${keyVersion}`;
}
