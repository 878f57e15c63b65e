import type { KeyObject } from "node:crypto";
import type { Effect } from "./kinds.ts";
import { type Published, verifyToken } from "./verifier.ts";

/** A rule of the campaign, by its name. */
export type Rule =
  | "bad token"
  | "wrong kid"
  | "not published"
  | "not the backend's key"
  | "foreign error"
  | "wrong code"
  | "wrong transient"
  | "late promise"
  | "hanging promise"
  | "failed without a fault"
  | "fault without effect"
  | "no recovery"
  | "left behind"
  | "memory"
  | "rejection"
  | "warning"
  | "too few tokens";

/** Something that must not happen. */
export interface Finding {
  readonly rule: Rule;
  readonly what: string;
}

/** A call that has ended, and what held while it ran. */
export interface EndedCall {
  /** The claim `sub` that it was to have. */
  readonly subject: string;
  readonly outcome: { readonly token: string } | { readonly error: unknown };
  /** The key sets that were published when it began and when it ended. */
  readonly published: readonly Published[];
  /** The kids that signed between its begin and its end. */
  readonly kids: ReadonlySet<string>;
}

/** What a call may do at the moment. */
export interface Allowed {
  readonly effect: Effect;
  readonly codes: readonly string[];
}

/** Whether the same call may succeed later, by the code. `integrity` may be either. */
const TRANSIENT: Readonly<Record<string, boolean | "either">> = {
  unavailable: true,
  throttled: true,
  timeout: true,
  overloaded: true,
  aborted: false,
  closed: false,
  key_not_found: false,
  key_disabled: false,
  access_denied: false,
  ambiguous_key: false,
  unsupported_key: false,
  wrong_key: false,
  pin_incorrect: false,
  pin_locked: false,
  bad_signature: false,
  integrity: "either",
  invalid_argument: false,
};

/** Judges a call. `truth`: the public keys as the backend has them, by the kid that each must have. */
export function judgeCall(
  call: EndedCall,
  allowed: Allowed,
  truth: ReadonlyMap<string, KeyObject>,
): readonly Finding[] {
  const { outcome } = call;
  return "token" in outcome ? judgeToken(outcome.token, call, truth) : judgeError(outcome.error, allowed);
}

function judgeToken(token: string, call: EndedCall, truth: ReadonlyMap<string, KeyObject>): readonly Finding[] {
  const findPublished = (kid: string): KeyObject | undefined =>
    call.published.map((set) => set.get(kid)).find((key) => key !== undefined);
  let verified;
  try {
    verified = verifyToken(token, findPublished);
  } catch (error) {
    const what = `${call.subject}: ${(error as Error).message}`;
    return [{ rule: what.includes("is not published") ? "not published" : "bad token", what }];
  }
  const { kid, claims } = verified;
  const findings: Finding[] = [];
  if (claims["sub"] !== call.subject) {
    findings.push({ rule: "bad token", what: `${call.subject}: it is the token of ${String(claims["sub"])}` });
  }
  if (!call.kids.has(kid)) {
    findings.push({
      rule: "wrong kid",
      what: `${call.subject}: ${kid} signed, instead of ${[...call.kids].join(", ")}`,
    });
  }
  const key = truth.get(kid);
  if (key === undefined || findPublished(kid)?.equals(key) !== true) {
    findings.push({ rule: "not the backend's key", what: `${call.subject}: ${kid} is published with another key` });
  }
  return findings;
}

interface ErrorLike {
  readonly name: string;
  readonly message: string;
  readonly code: string;
  readonly transient: unknown;
}

function judgeError(thrown: unknown, { effect, codes }: Allowed): readonly Finding[] {
  const error = thrown as Partial<ErrorLike> | null | undefined;
  const code = error?.code;
  const transient = code === undefined ? undefined : TRANSIENT[code];
  const what = `${error?.name ?? typeof thrown} ${code ?? "without a code"}: ${error?.message ?? ""}`;
  if (error?.name !== "SignerError" || transient === undefined) return [{ rule: "foreign error", what }];
  const findings: Finding[] = [];
  if (transient === "either" ? typeof error.transient !== "boolean" : error.transient !== transient) {
    findings.push({ rule: "wrong transient", what: `transient is ${String(error.transient)}: ${what}` });
  }
  if (effect === "signs") findings.push({ rule: "failed without a fault", what });
  else if (code === undefined || !codes.includes(code)) findings.push({ rule: "wrong code", what });
  return findings;
}

/**
 * Judges a fault that is over. `failed`: how many of its calls failed. `felt`: by how much the count has grown that shows that the
 * signer felt it, if the backend has one.
 */
export function judgeFault(kind: string, effect: Effect, failed: number, felt?: number): readonly Finding[] {
  const rule = "fault without effect";
  if (effect === "fails" && failed === 0) return [{ rule, what: `${kind}: every call gave a token` }];
  return failed > 0 || felt === undefined || felt > 0 ? [] : [{ rule, what: `${kind}: the signer has not felt it` }];
}
