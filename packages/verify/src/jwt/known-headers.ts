import { createRecentlyUsed } from "../recently-used.ts";
import type { JwsHeader } from "../token/compact.ts";

/** Headers of tokens that verified, by their text. */
export interface KnownHeaders {
  get(text: string): JwsHeader | undefined;
  /** Freezes the header, because later tokens share it. */
  add(jwt: string, parsed: JwsHeader): void;
}

/** An issuer needs one for each active key. */
const MAX_HEADERS = 16;
/** A longer header is parsed for each token. It may be deeply nested. */
const MAX_TEXT_LENGTH = 512;

/** All tokens that a key signs have the same header, so it is parsed once. Forged tokens cannot fill the memory. */
export function createKnownHeaders(): KnownHeaders {
  const known = createRecentlyUsed<JwsHeader>(MAX_HEADERS);
  return {
    get: (text) => known.get(text),
    add(jwt, { header, alg }) {
      if (Object.isFrozen(header)) return;
      const length = jwt.indexOf(".");
      if (length > MAX_TEXT_LENGTH) return;
      // A slice alone would keep the whole token in memory.
      const text = Buffer.from(jwt.slice(0, length), "latin1").toString("latin1");
      known.set(text, { header: frozen(header), alg });
    },
  };
}

function frozen<Json>(json: Json): Json {
  if (typeof json === "object" && json !== null) Object.values(Object.freeze(json)).forEach(frozen);
  return json;
}
