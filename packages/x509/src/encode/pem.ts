/** A certificate, or a request for one, in both of its forms. */
export interface EncodedCertificate {
  /** DER. */
  readonly der: Uint8Array;
  /** PEM (RFC 7468), with a line break at its end. */
  readonly pem: string;
}

/** DER as PEM with this label (RFC 7468): lines of 64 characters, and a line break at the end. */
export function pemOf(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/**
 * The DER of each block with this label, in their order. Other text is skipped. Undefined if the base64 of one is malformed, or if
 * one has no end: a file that was cut off is not a shorter chain.
 */
export function pemBlocks(label: string, text: string): readonly Uint8Array[] | undefined {
  const blocks = text.matchAll(new RegExp(`-----BEGIN ${label}-----([^-]*)-----END ${label}-----`, "g"));
  const ders = [...blocks].map(([, body = ""]) => bytesOf(body.replaceAll(/\s/g, "")));
  const isWhole = ders.length === text.split(`-----BEGIN ${label}-----`).length - 1;
  return isWhole && ders.every((der) => der !== undefined) ? ders : undefined;
}

function bytesOf(base64: string): Uint8Array | undefined {
  const der = Buffer.from(base64, "base64");
  return base64 !== "" && der.toString("base64") === base64 ? new Uint8Array(der) : undefined;
}
