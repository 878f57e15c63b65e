/** What identifies a token, independent of its slot: the slot may change on the next start. */
export interface TokenName {
  readonly label: string;
  readonly serial: string;
}

/** Only the name, from a larger description. */
export function tokenName({ label, serial }: TokenName): TokenName {
  return { label, serial };
}

/** As a key for maps. */
export function tokenKey({ label, serial }: TokenName): string {
  return JSON.stringify([label, serial]);
}

/** As text for people. */
export function describeToken({ label, serial }: TokenName): string {
  return `token ${JSON.stringify(label)} (serial ${serial === "" ? "none" : serial})`;
}
