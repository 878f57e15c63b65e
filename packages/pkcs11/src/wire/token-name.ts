/** What tells tokens apart, wherever they are: a token may be in another slot after the next start. */
export interface TokenName {
  readonly label: string;
  readonly serial: string;
}

/** The name alone, of whatever else is known of a token. */
export function tokenName({ label, serial }: TokenName): TokenName {
  return { label, serial };
}

/** For maps. */
export function tokenKey({ label, serial }: TokenName): string {
  return JSON.stringify([label, serial]);
}

/** For people. */
export function describeToken({ label, serial }: TokenName): string {
  return `token ${JSON.stringify(label)} (serial ${serial === "" ? "none" : serial})`;
}
