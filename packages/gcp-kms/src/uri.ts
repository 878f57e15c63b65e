import { ConfigurationError } from "@signpost/core";
import { afterScheme } from "@signpost/core/adapter";

const SCHEME = "gcpkms://";

/** The resource name in `gcpkms://projects/…`, as it stands there. Nothing is decoded: no id has a character that needs it. */
export function parseKeyUri(uri: string): string {
  const rest = afterScheme(uri, "gcpkms");
  if (rest?.startsWith("//") === true) return rest.slice(2);
  throw new ConfigurationError("uri", `expected a key URI that begins with ${SCHEME}projects/`);
}

/** The canonical URI of an opened version. */
export function formatKeyUri(keyVersion: string): string {
  return `${SCHEME}${keyVersion}`;
}
