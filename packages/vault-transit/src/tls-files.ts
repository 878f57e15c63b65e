import { ConfigurationError } from "@signpost/core";
import { memberOf, readRegularFile } from "@signpost/core/adapter";
import type { VaultTransitTlsOptions } from "./client.ts";

/** What a TLS connection needs. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

const MAX_FILE_BYTES = 1_048_576;

/** Whether there is a file to read. */
export function hasTlsFiles({ caFile, certFile }: VaultTransitTlsOptions): boolean {
  return caFile !== undefined || certFile !== undefined;
}

/**
 * Reads the files.
 *
 * @throws ConfigurationError that names the option, not the path.
 */
export async function readTlsFiles({ caFile, certFile, keyFile }: VaultTransitTlsOptions): Promise<TlsMaterial> {
  const [ca, cert, key] = await Promise.all([
    readPem("tls.caFile", "CACERT", caFile),
    readPem("tls.certFile", "CLIENT_CERT", certFile),
    readPem("tls.keyFile", "CLIENT_KEY", keyFile),
  ]);
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
}

/** The option may come from a variable, which the caller must be able to find. */
async function readPem(argument: string, variable: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const expected = `expected a PEM file, here or in VAULT_${variable} or BAO_${variable}`;
  try {
    const text = Buffer.from(await readRegularFile(argument, path, MAX_FILE_BYTES)).toString("latin1");
    if (text.includes("-----BEGIN ")) return text;
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw new ConfigurationError(argument, `${expected}, but it cannot be read: ${String(memberOf(error, "code"))}`);
  }
  throw new ConfigurationError(argument, expected);
}
