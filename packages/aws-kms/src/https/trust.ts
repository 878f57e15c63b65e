import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { ConfigurationError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";

/** A bundle of certificate authorities has about 250 KB. */
const MAX_BUNDLE_BYTES = 4_194_304;

/**
 * The authorities that the AWS tools trust instead of Node's. Undefined without `AWS_CA_BUNDLE`. They are read once,
 * because an agent that has the text reads it for each connection, which takes 20 ms.
 *
 * @throws ConfigurationError for a file that cannot be read, or has no certificate.
 */
export async function readTrust(): Promise<SecureContext | undefined> {
  const path = process.env["AWS_CA_BUNDLE"] ?? "";
  if (path === "") return undefined;
  const ca = Buffer.from(await readBundle(path)).toString("utf8");
  if (hasCertificate(ca)) return createSecureContext({ ca });
  throw new ConfigurationError("AWS_CA_BUNDLE", "expected a file with certificates in PEM");
}

/** TLS ignores any other text, and would trust no certificate at all. */
function hasCertificate(pem: string): boolean {
  try {
    void new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

async function readBundle(path: string): Promise<Uint8Array> {
  try {
    return await readRegularFile("AWS_CA_BUNDLE", path, MAX_BUNDLE_BYTES);
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError("AWS_CA_BUNDLE", "expected the path of a file that can be read", { cause });
  }
}
