import type { Facts } from "../facts.ts";
import type { CheckRow } from "../report.ts";
import { CONDITIONAL_RULES } from "./conditional.ts";
import { CONTRACT_RULES } from "./contract.ts";
import { DISCOVERY_RULES } from "./discovery.ts";
import { DOCUMENT_RULES } from "./document.ts";
import { KEY_RULES } from "./keys.ts";
import { LIFETIME_RULES } from "./lifetime.ts";
import { PURPOSE_RULES } from "./purpose.ts";
import { REQUEST_RULES } from "./requests.ts";
import { rowOf } from "./rule.ts";
import type { Rule } from "./rule.ts";
import { TRANSPORT_RULES } from "./transport.ts";
import { VALIDATOR_RULES } from "./validators.ts";

/** Every rule about one key set, in the order of the report. */
export const RULES: readonly Rule[] = [
  ...DISCOVERY_RULES,
  ...TRANSPORT_RULES,
  ...DOCUMENT_RULES,
  ...KEY_RULES,
  ...PURPOSE_RULES,
  ...VALIDATOR_RULES,
  ...CONDITIONAL_RULES,
  ...REQUEST_RULES,
  ...LIFETIME_RULES,
];

/** Every rule with `--strict`. */
export const STRICT_RULES: readonly Rule[] = [...RULES, ...CONTRACT_RULES];

/** Applies all rules. */
export function judge(facts: Facts): readonly CheckRow[] {
  return (facts.isStrict ? STRICT_RULES : RULES).map((rule) => rowOf(rule, facts));
}
