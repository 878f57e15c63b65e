import { soleValue } from "./sole-value.ts";

/** Whether the text is in the form that is compared: `type/subtype` in lower case (RFC 6838 section 4.2), without parameters. */
export function isMediaType(text: string): boolean {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/.test(text);
}

/** The media type of a Content-Type header, or an empty string. */
export function mediaTypeOf(contentType = ""): string {
  const [mediaType = ""] = soleValue(contentType).split(";", 1);
  return mediaType.trim().toLowerCase();
}

/** For a message. The value comes from another party. */
export function printableType(mediaType: string): string {
  if (mediaType === "") return "no content type";
  return mediaType.length <= 64 && isMediaType(mediaType) ? mediaType : "an invalid content type";
}
