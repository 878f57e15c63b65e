import { ConfigurationError, jwkThumbprint, type P256PublicJwk } from "@signpost/core";
import { afterScheme, given } from "@signpost/core/adapter";

const SCHEME = "local:";

/** The path in `local:path/to/key.pem`, unchanged. It is empty for `local:`, which means a new key. */
export function parseKeyUri(uri: string): string {
  const path = afterScheme(uri, "local");
  if (path !== undefined) return path;
  throw new ConfigurationError("uri", `expected a key URI that starts with ${SCHEME}, got ${given(uri)}`);
}

/** The URI of a key that did not come from a file. It contains the thumbprint of the key. */
export function formatKeyUri(publicKey: P256PublicJwk): string {
  return `${SCHEME}#${jwkThumbprint(publicKey)}`;
}
