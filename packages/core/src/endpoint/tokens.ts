const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The members of a list of tokens (RFC 9110 section 5.6.1), empty ones left out. Undefined where one is no token, or there is none. */
export function splitTokens(list: string): string[] | undefined {
  const members = list.split(",").map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ""));
  const tokens = members.filter((member) => member !== "");
  return tokens.length > 0 && tokens.every((token) => TOKEN.test(token)) ? tokens : undefined;
}
