const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The members of a list of tokens (RFC 9110 section 5.6.1). Undefined if one is not a token, or if there are none. */
export function splitTokens(list: string): string[] | undefined {
  const members = list.split(",").map((member) => trimWhitespace(member, 0, member.length));
  const tokens = members.filter((member) => member !== "");
  return tokens.length > 0 && tokens.every((token) => TOKEN.test(token)) ? tokens : undefined;
}

/**
 * Trims the white space at both ends. Optional white space is SP and HTAB (RFC 9110 section 5.6.3). `trim()` would remove
 * more than that, and a regular expression for the end would be quadratic on a long run of spaces.
 */
export function trimWhitespace(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isWhitespace(text[start])) start += 1;
  while (end > start && isWhitespace(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

function isWhitespace(character: string | undefined): boolean {
  return character === " " || character === "\t";
}
