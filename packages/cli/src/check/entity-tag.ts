/** An `ETag` (RFC 9110 section 8.8.3). */
export interface EntityTag {
  /** As it was sent. */
  readonly value: string;
  readonly kind: "strong" | "weak" | "malformed";
}

/** Reads the value of `ETag`. Undefined if it was not sent. */
export function readEntityTag(value: string | undefined): EntityTag | undefined {
  if (value === undefined) return undefined;
  // An opaque tag has no quote, space or control inside its quotes.
  const match = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/.exec(value);
  if (match === null) return { value, kind: "malformed" };
  return { value, kind: match[1] === undefined ? "strong" : "weak" };
}
