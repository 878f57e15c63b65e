/** The rules of a token, in the order in which they are checked. */
export const RULES = [
  "form",
  "algorithm",
  "type",
  "key",
  "signature",
  "issuer",
  "times",
  "audience",
  "claims",
] as const;

export type Rule = (typeof RULES)[number];

/** `open`: the check had nothing to compare with. `not reached`: a rule before it failed. */
export type RuleState = "passed" | "failed" | "open" | "not reached";

export interface RuleResult {
  readonly rule: Rule;
  readonly state: RuleState;
}

const RULE_OF_CODE: Readonly<Record<string, Rule>> = {
  malformed_jwt: "form",
  unsupported_header: "form",
  alg_not_allowed: "algorithm",
  unsupported_alg: "algorithm",
  invalid_typ: "type",
  missing_kid: "key",
  unknown_kid: "key",
  no_suitable_key: "key",
  key_left_out: "key",
  kid_rebound: "key",
  ambiguous_key: "key",
  bad_signature: "signature",
  invalid_issuer: "issuer",
  expired: "times",
  not_yet_valid: "times",
  lifetime_too_long: "times",
  invalid_audience: "audience",
  insufficient_scope: "claims",
  invalid_claim: "claims",
};

const RULE_OF_CLAIM: Readonly<Record<string, Rule>> = {
  iss: "issuer",
  aud: "audience",
  azp: "audience",
  exp: "times",
  iat: "times",
  nbf: "times",
};

/** The rule that a token breaks, from the code of its error and the claim at fault. Undefined if the token is not at fault. */
export function brokenRule(code: string, claim: string | undefined): Rule | undefined {
  const ofClaim = code === "invalid_claim" && claim !== undefined ? RULE_OF_CLAIM[claim] : undefined;
  return ofClaim ?? RULE_OF_CODE[code];
}

/** The state of each rule. `open` rules had nothing to compare with. */
export function ruleResults(broken: Rule | undefined, open: ReadonlySet<Rule>): readonly RuleResult[] {
  const end = broken === undefined ? RULES.length : RULES.indexOf(broken);
  return RULES.map((rule, index) => {
    if (rule === broken) return { rule, state: "failed" };
    if (index > end) return { rule, state: "not reached" };
    return { rule, state: open.has(rule) ? "open" : "passed" };
  });
}
