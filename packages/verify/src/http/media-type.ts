import { soleValue } from "./sole-value.ts";

/** As it is compared: `type/subtype` in lower case (RFC 6838 section 4.2), without parameters. */
export function isMediaType(text: string): boolean {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(text);
}

/** That of a Content-Type header; empty where there is none. */
export function mediaTypeOf(contentType = ""): string {
  const [mediaType = ""] = soleValue(contentType).split(";", 1);
  return mediaType.trim().toLowerCase();
}

/** For a message. Another party wrote it. */
export function printableType(mediaType: string): string {
  if (mediaType === "") return "no content type";
  return mediaType.length <= 64 && isMediaType(mediaType) ? mediaType : "a content type that is none";
}
