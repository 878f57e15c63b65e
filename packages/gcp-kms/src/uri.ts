import { ConfigurationError } from "@signpost/core";
import { afterScheme, given } from "@signpost/core/adapter";

const SCHEME = "gcpkms://";

/** The resource name in `gcpkms://projects/…`. Nothing is decoded, because no id contains a character that needs it. */
export function parseKeyUri(uri: string): string {
  const rest = afterScheme(uri, "gcpkms");
  if (rest?.startsWith("//") === true) return rest.slice(2);
  throw new ConfigurationError("uri", `expected a key URI that begins with ${SCHEME}projects/, got ${given(uri)}`);
}

/** The canonical URI of a version. */
export function formatKeyUri(keyVersion: string): string {
  return `${SCHEME}${keyVersion}`;
}
