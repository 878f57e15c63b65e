import { duration } from "../terminal/duration.ts";
import { printable } from "../terminal/printable.ts";
import type { Rule } from "./rules.ts";
import type { TokenSays } from "./token.ts";

/** What the rules compare with. */
export interface Expected {
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  readonly algorithms: readonly string[];
  readonly type: string;
  /** Where the keys come from. */
  readonly place: string;
  /** Seconds since 1970. */
  readonly now: number;
}

/** What a token says about a rule, in a few words. */
export function ruleWords(rule: Rule, { header, claims }: TokenSays, expected: Expected): string {
  const words: Readonly<Record<Rule, () => string>> = {
    form: () => "a compact JWS: a header, claims and a signature",
    algorithm: () => shown(header["alg"]),
    type: () => `${KINDS[expected.type] ?? expected.type}, typ ${shown(header["typ"])}`,
    key: () => `kid ${shown(header["kid"])} in ${printable(expected.place)}`,
    signature: () => "verifies with this key",
    issuer: () => shown(claims["iss"]),
    times: () => timesWords(claims, expected.now),
    audience: () => shown(claims["aud"]),
    claims: () => "all claims that this kind of token needs",
  };
  return words[rule]();
}

/** Why a rule is not checked. */
export const OPEN_WORDS: Readonly<Partial<Record<Rule, string>>> = {
  issuer: "not compared: name the one you expect with --issuer",
  audience: "not compared: name the one you expect with --audience",
};

const KINDS: Readonly<Record<string, string>> = { id_token: "an ID token", access_token: "an access token" };

/** Why a token is refused, in words. `message` is the one of the error, which contains no value of a claim. */
export function refusalWords(code: string, message: string, token: TokenSays, expected: Expected): string {
  const { header, claims } = token;
  const words: Readonly<Record<string, () => string>> = {
    alg_not_allowed: () => `The header says ${shown(header["alg"])}. Accepted: ${expected.algorithms.join(", ")}`,
    invalid_typ: () => `The header says typ ${shown(header["typ"])}, which is not that of ${KINDS[expected.type]}`,
    unknown_kid: () =>
      `${printable(expected.place)} has no key with the kid ${shown(header["kid"])}${printable(afterNoKey(message))}`,
    missing_kid: () => "The header names no key (kid)",
    bad_signature: () =>
      `The signature was not made by the key ${shown(header["kid"])} over this header and these claims`,
    invalid_issuer: () => `The token is from ${shown(claims["iss"])}, and not from ${shown(expected.issuer)}`,
    invalid_audience: () => `The token is for ${shown(claims["aud"])}, and not for ${shown(expected.audience)}`,
    expired: () => `The token expired ${since(claims["exp"], expected.now)}`,
    not_yet_valid: () =>
      `The token is not valid yet: ${timesWords(claims, expected.now)}${authTimeWords(claims, expected.now)}`,
  };
  return words[code]?.() ?? printable(message);
}

const LEFT_OUT = / \(left out of the set: .*\)/;

/** What the error says after "no key with this kid": entries that were left out, and whether the set was fetched again. */
function afterNoKey(message: string): string {
  const leftOut = LEFT_OUT.exec(message)?.[0] ?? "";
  return message.endsWith(", even after a refetch") ? `${leftOut}, even when fetched again` : leftOut;
}

/** What can be done, if the token may be right. */
export function refusalHint(code: string, message: string, { header }: TokenSays): string | undefined {
  const alg =
    typeof header["alg"] === "string" && /^[A-Z][A-Za-z]{1,4}\d{0,5}$/.test(header["alg"]) ? header["alg"] : undefined;
  const hints: Readonly<Record<string, string | undefined>> = {
    alg_not_allowed: alg === undefined || /^(?:HS|no)/.test(alg) ? undefined : `To accept it: --alg ${alg}`,
    invalid_typ: "Another kind of token? Name it with --type",
    unknown_kid: LEFT_OUT.test(message)
      ? "The key may be in an entry that was left out. signpost check says what is wrong with each entry"
      : "A new key must be published before it signs. An old one must stay published until its tokens have expired",
    not_yet_valid: "Compare the clock of this machine with that of the OP",
  };
  return hints[code];
}

function timesWords({ exp, iat, nbf }: TokenSays["claims"], now: number): string {
  const parts = [
    iat === undefined ? undefined : `issued ${since(iat, now)}`,
    nbf === undefined ? undefined : `valid from ${since(nbf, now)}`,
    exp === undefined ? "no exp" : `expires ${since(exp, now)}`,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

function authTimeWords({ auth_time: time }: TokenSays["claims"], now: number): string {
  return time === undefined ? "" : `, user authenticated ${since(time, now)}`;
}

/** How far away a time is: `in 5 min`, `2 h 10 min ago`. */
export function since(time: unknown, now: number): string {
  if (typeof time !== "number" || !Number.isFinite(time)) return "at no time that is a number";
  const seconds = Math.round(Math.abs(time - now));
  if (seconds === 0) return "now";
  return time > now ? `in ${duration(seconds)}` : `${duration(seconds)} ago`;
}

const MAX_SHOWN = 200;

/** A value of a token, short and safe for a terminal. */
function shown(value: unknown): string {
  if (value === undefined) return "none";
  const text = printable(typeof value === "string" ? value : jsonText(value));
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Values can be nested deeper than JSON can be written. */
function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "a value that is nested too deep";
  }
}
