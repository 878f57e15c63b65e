import { SignpostError, VerifyError } from "@signpost/core";
import { createJwtVerifier, KeySetError, type VerifiedJwt } from "@signpost/verify";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { readStdin } from "../program/stdin.ts";
import { tableText } from "../terminal/table.ts";
import type { VerifyFlags } from "./command.ts";
import { openKeySource, type KeySource } from "./key-source.ts";
import { brokenRule, ruleResults, type Rule, type RuleResult, type RuleState } from "./rules.ts";
import { firstAudience, readToken, type TokenSays } from "./token.ts";
import { OPEN_WORDS, refusalHint, refusalWords, ruleWords, type Expected } from "./words.ts";

/** A token of 65,536 characters is the longest that is ever accepted. */
const MAX_BYTES = 131_072;

type Verified = VerifiedJwt<object>;

/** Why a token is refused. */
interface Refusal {
  readonly code: string;
  readonly rule: Rule;
  readonly message: string;
  readonly hint: string | undefined;
}

export async function runVerify(context: CliContext, flags: VerifyFlags, source: string): Promise<ExitCode> {
  refuseToken(source);
  const token = (await readStdin(context, "a token", MAX_BYTES)).replace(/^Bearer +/i, "");
  const says = readToken(token);
  const keySource = await openKeySource(source, flags.issuer, context.cwd);
  const type =
    flags.type ?? (/^(?:application\/)?at\+jwt$/i.test(String(says.header["typ"])) ? "access_token" : "id_token");
  const open = new Set<Rule>();
  if (keySource.issuer === undefined) open.add("issuer");
  if (flags.audience === undefined) open.add("audience");

  const verify = verifier(says, keySource, { ...flags, type }, context.signal);
  const outcome = await context
    .during("Verifying", () => verify(token))
    .then(
      (verified) => ({ verified }),
      (error: unknown) => ({ error }),
    );
  const expected: Expected = {
    issuer: keySource.issuer,
    audience: flags.audience,
    algorithms: flags.alg ?? ["ES256"],
    type,
    place: keySource.place(),
    now: Date.now() / 1000,
  };
  if ("verified" in outcome) {
    const results = ruleResults(undefined, open);
    if (flags.json === true) context.output.json({ valid: true, rules: results, ...outcome.verified });
    else printRules(context, results, says, expected);
    return EXIT.ok;
  }
  const refusal = refusalOf(outcome.error, says, expected);
  const results = ruleResults(refusal.rule, open);
  const { rule, code, message, hint } = refusal;
  if (flags.json === true) context.output.json({ valid: false, rule, code, message, hint, rules: results });
  else printRefusal(context, refusal, results, says, expected);
  return EXIT.finding;
}

/** Before anything is read or printed: a command line shows in lists of processes and in the history of a shell. */
function refuseToken(source: string): void {
  if (!/(?:^|\s)ey[\w-]+\.[\w-]+\.[\w-]*/.test(source)) return;
  throw new CliError(EXIT.usage, "token_as_argument", "The source looks like a token, which is read from stdin only", {
    hint: "signpost verify https://op.example < token.txt",
  });
}

/** What was not given is taken from the token, so that it equals itself. */
function verifier(
  { claims }: TokenSays,
  { keys, issuer = textOr(claims["iss"], "none") }: KeySource,
  flags: VerifyFlags & { readonly type: "id_token" | "access_token" },
  signal: AbortSignal,
): (token: string) => Promise<Verified> {
  const { type, nonce, scope, alg: algorithms } = flags;
  const audience = flags.audience ?? firstAudience(claims) ?? "none";
  const common = { issuer, audience, keys, ...(algorithms === undefined ? {} : { algorithms }) };
  if (type === "access_token") {
    const call = { signal, ...(scope === undefined ? {} : { scopes: scope }) };
    return (token) => createJwtVerifier({ ...common, type }).verify(token, call);
  }
  const call = { signal, ...(nonce === undefined ? {} : { nonce }) };
  const others = flags.audience === undefined ? ({ otherAudiences: "any" } as const) : {};
  return (token) => createJwtVerifier({ ...common, ...others, type }).verify(token, call);
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" && value !== "" ? value : fallback;
}

/** Throws what is not the token's fault: no answer from the issuer, a mistake in an option. */
function refusalOf(error: unknown, says: TokenSays, expected: Expected): Refusal {
  if (!(error instanceof SignpostError)) throw error;
  const claim: unknown = Reflect.get(error, "claim");
  const rule = brokenRule(error.code, typeof claim === "string" ? claim : undefined);
  if (!(error instanceof VerifyError) || error.transient || rule === undefined) throw withHint(error);
  const { code } = error;
  return {
    code,
    rule,
    message: refusalWords(code, error.message, says, expected),
    hint: refusalHint(code, error.message, says),
  };
}

/** A server of a key set alone, such as `signpost serve`, has no discovery document. */
function withHint(error: SignpostError): SignpostError | CliError {
  const isMissing = error instanceof KeySetError && error.status === 404;
  if (!isMissing || !error.message.includes("/.well-known/")) return error;
  return new CliError(EXIT.backend, error.code, error.message, {
    cause: error,
    hint: "For a key set without this document: signpost verify https://op.example/jwks --issuer https://op.example",
  });
}

function printRefusal(
  context: CliContext,
  refusal: Refusal,
  results: readonly RuleResult[],
  says: TokenSays,
  expected: Expected,
): void {
  const { output } = context;
  printRules(context, results, says, expected, refusal.message);
  output.line();
  output.line(`${output.colors.red("refused")} ${output.colors.dim(refusal.code)}`);
  if (refusal.hint !== undefined) output.line(`${output.colors.dim("hint")}    ${refusal.hint}`);
}

function printRules(
  { output }: CliContext,
  results: readonly RuleResult[],
  says: TokenSays,
  expected: Expected,
  refusal: string = "",
): void {
  const { colors } = output;
  const rows = results.map(({ rule, state }): readonly string[] => {
    const marks: Readonly<Record<RuleState, () => readonly string[]>> = {
      passed: () => [colors.green("✓"), rule, ruleWords(rule, says, expected)],
      failed: () => [colors.red("✗"), colors.bold(rule), refusal],
      open: () => [
        colors.yellow("-"),
        rule,
        `${ruleWords(rule, says, expected)}; ${OPEN_WORDS[rule] ?? "not compared"}`,
      ],
      "not reached": () => [colors.dim("·"), colors.dim(rule), colors.dim("not reached")],
    };
    return marks[state]();
  });
  output.line(tableText(rows, output));
}
