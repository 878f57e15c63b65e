import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContextOptions } from "node:tls";
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

/**
 * Refuses files that no connection can be made with. Otherwise each would fail as if the server were down.
 *
 * @throws ConfigurationError that names the option, not the path.
 */
export function requireUsable({ ca, cert, key }: TlsMaterial): void {
  if (ca !== undefined) requireCertificate(ca);
  requireAccepted("tls.certFile", "expected a certificate in PEM", { cert });
  requireAccepted("tls.keyFile", "expected the unencrypted private key of the certificate in tls.certFile", {
    cert,
    key,
  });
}

/** TLS ignores what it cannot read. Reads the first certificate. */
function requireCertificate(ca: string): void {
  try {
    void new X509Certificate(ca);
  } catch (error) {
    const expected = `${pemFile("CACERT")} with certificates`;
    throw new ConfigurationError("tls.caFile", `${expected} (${String(memberOf(error, "code"))})`);
  }
}

function requireAccepted(argument: string, expected: string, material: SecureContextOptions): void {
  try {
    createSecureContext(material);
  } catch (error) {
    // Without the cause: an OpenSSL error about a private key must not get out.
    throw new ConfigurationError(argument, `${expected} (${String(memberOf(error, "code"))})`);
  }
}

async function readPem(argument: string, variable: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const expected = pemFile(variable);
  try {
    // Without a byte order mark, since TLS would ignore the first certificate behind it.
    const text = new TextDecoder().decode(await readRegularFile(argument, path, MAX_FILE_BYTES));
    if (text.includes("-----BEGIN ")) return text;
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw new ConfigurationError(argument, `${expected} but it cannot be read: ${String(memberOf(error, "code"))}`);
  }
  throw new ConfigurationError(argument, `${expected} with certificates or a key`);
}

/** The option may come from a variable, which the caller must be able to find. */
function pemFile(variable: string): string {
  return `expected a PEM file, here or in VAULT_${variable} or BAO_${variable},`;
}
