import { X509Certificate } from "node:crypto";
import { ConfigurationError } from "@signpost/core";
import { memberOf, readRegularFile } from "@signpost/core/adapter";

const MAX_FILE_BYTES = 1_048_576;
const EXPECTED = "expected a PEM file with certificates";

/**
 * Reads the certificates to trust.
 *
 * @throws ConfigurationError that names the option, not the path.
 */
export async function readCaFile(path: string): Promise<string> {
  const bytes = await readRegularFile("tls.caFile", path, MAX_FILE_BYTES).catch((error: unknown) => {
    if (error instanceof ConfigurationError) throw error;
    throw new ConfigurationError(
      "tls.caFile",
      `${EXPECTED}, but it cannot be read: ${String(memberOf(error, "code"))}`,
    );
  });
  // Without a byte order mark, since TLS would ignore the first certificate behind it.
  const text = new TextDecoder().decode(bytes);
  if (!text.includes("-----BEGIN ")) throw new ConfigurationError("tls.caFile", EXPECTED);
  requireUsable(text);
  return text;
}

/** TLS ignores what it cannot read, and each connection would fail as if the vault were down. Reads the first certificate. */
function requireUsable(ca: string): void {
  try {
    void new X509Certificate(ca);
  } catch (error) {
    throw new ConfigurationError("tls.caFile", `${EXPECTED} (${String(memberOf(error, "code"))})`);
  }
}
