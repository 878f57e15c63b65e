import { isPlainObject } from "@signpost/core/adapter";

/** What a token says of itself. Nothing in it is trusted: it only explains a verdict, and stands in for what was not given. */
export interface TokenSays {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Reads a token as well as possible. Parts that cannot be read are empty. */
export function readToken(token: string): TokenSays {
  const [header, claims] = token.split(".");
  return { header: partOf(header), claims: partOf(claims) };
}

function partOf(part: string = ""): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return isPlainObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The first audience of a token. */
export function firstAudience({ aud }: TokenSays["claims"]): string | undefined {
  const first: unknown = Array.isArray(aud) ? aud[0] : aud;
  return typeof first === "string" && first !== "" ? first : undefined;
}
