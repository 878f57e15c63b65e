import { ConfigurationError, jwkThumbprint, type P256PublicJwk } from "@signpost/core";
import { afterScheme } from "@signpost/core/adapter";

const SCHEME = "local:";

/** The path in `local:path/to/key.pem`, as it stands there. It is empty in `local:`, which asks for a new key. */
export function parseKeyUri(uri: string): string {
  const path = afterScheme(uri, "local");
  if (path !== undefined) return path;
  throw new ConfigurationError("uri", `expected a key URI that begins with ${SCHEME}`);
}

/** The URI of a key that came from no file: it names the key by its thumbprint. */
export function formatKeyUri(publicKey: P256PublicJwk): string {
  return `${SCHEME}#${jwkThumbprint(publicKey)}`;
}
