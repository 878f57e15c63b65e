import { hash } from "node:crypto";
import { probeText } from "../../doctor/probe.ts";

/** The digest of a text that is no signing input of a token. Another one for each call. */
export function probeDigest(): Buffer {
  return hash("sha256", probeText(), "buffer");
}
