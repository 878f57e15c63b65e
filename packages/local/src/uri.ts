import { ConfigurationError, jwkThumbprint, type P256PublicJwk } from "@signpost/core";

const SCHEME = "local:";

/** The path in `local:path/to/key.pem`, as it stands there. It is empty in `local:`, which asks for a new key. */
export function parseKeyUri(uri: string): string {
  if (uri.startsWith(SCHEME)) return uri.slice(SCHEME.length);
  throw new ConfigurationError("uri", `expected a key URI that begins with ${SCHEME}`);
}

/** The URI of a key that came from no file: it names the key by its thumbprint. */
export function formatKeyUri(publicKey: P256PublicJwk): string {
  return `${SCHEME}#${jwkThumbprint(publicKey)}`;
}
