import { ConfigurationError } from "@signpost/core";
import { phaseAt } from "@signpost/core/adapter";
import { CliError } from "../../program/cli-error.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT, type ExitCode } from "../../program/exit-codes.ts";
import type { Output } from "../../terminal/output.ts";
import { printable } from "../../terminal/printable.ts";
import { tableText } from "../../terminal/table.ts";
import { withOpenKeys, type OpenKeys } from "../change/open-keys.ts";
import { printSchedule } from "../change/print-code.ts";
import { printOutcome, propose, type Outcome, type Proposal } from "../change/propose.ts";
import { loadTarget, type Target } from "../change/target.ts";
import { refusedChains } from "../chains.ts";
import { activeAt, inspectRotation, type RotationKey } from "../inspect.ts";
import { requireSound } from "../require-sound.ts";
import { jwksUriOf } from "../source.ts";
import { instantOrNull } from "../timeline/instants.ts";
import type { EmergencyFlags } from "./command.ts";
import { findKey } from "./find-key.ts";
import { openReplacement } from "./replacement.ts";
import { tokensAlive, type TokensAlive } from "./impact.ts";
import { withdraw, type Replacement, type Withdrawal } from "./withdraw.ts";

export async function runEmergency(context: CliContext, flags: EmergencyFlags, kid: string): Promise<ExitCode> {
  if (flags.keyId !== undefined && flags.signer === undefined) {
    throw new CliError(EXIT.usage, "flags", "--key-id names the key of --signer, which is missing");
  }
  const target = await loadTarget(context, flags);
  return withOpenKeys(context, target.source, (keys) => withdrawKey(context, flags, kid, target, keys));
}

async function withdrawKey(
  context: CliContext,
  flags: EmergencyFlags,
  kid: string,
  target: Target,
  keys: OpenKeys,
): Promise<ExitCode> {
  const index = await findKey(target, kid, keys);
  const revoked = target.before.keys.find((key) => key.index === index);
  if (revoked === undefined) throw new TypeError("the schedule has no such key");
  // Whole seconds, as people write times. No key can have begun to sign in between.
  const at = Math.floor(target.now / 1000) * 1000;
  const replacement = await openReplacement(context, flags, target, keys);
  const withdrawn = withdrawOrSay(target, { index, keyId: kid }, at, replacement);
  const refused = await refusedChains(target.source, withdrawn.schedule, target.now, context.cwd);
  // The stolen key stays where the OP does not take the file. To leave certificates out is quicker than to renew them.
  const remedy = "before you roll it out, renew the chain, or remove certificates from the entry";
  const breaks = [...withdrawn.breaks, ...refused.map((problem) => `${problem}; ${remedy}`)];
  const withdrawal = { ...withdrawn, breaks };
  const proposal = proposalOf(target, withdrawal, at, kid);
  const next = activeAt(proposal.after.keys, at);
  if (next === undefined) throw new TypeError("no key signs after the emergency");
  if (replacement === undefined) await requireSigning(target, withdrawal, next, keys);
  const { messages } = context;
  messages.line(`${messages.colors.green("✓")} ${next.label} signed and verified a probe`);
  const alive = tokensAlive(revoked, target.before, at);
  const impact = { kid, revoked, next, alive, withdrawal, at };
  const outcome = await propose(context, flags, { ...proposal, warn: (output) => printImpact(output, impact) });
  report(context, flags, proposal, impact, outcome);
  return outcome.declined ? EXIT.finding : EXIT.ok;
}

function withdrawOrSay(
  target: Target,
  revoked: { readonly index: number; readonly keyId: string },
  at: number,
  replacement: Replacement | undefined,
): Withdrawal {
  try {
    return withdraw(target.schedule, revoked, at, replacement);
  } catch (error) {
    if (!(error instanceof ConfigurationError) || error.argument !== "replacement") throw error;
    if (replacement !== undefined) {
      const expected = error.message.slice("replacement: ".length);
      throw new CliError(EXIT.usage, "replacement", `--signer: ${expected}`, { cause: error });
    }
    throw new CliError(EXIT.usage, "no_other_key", "No other key of the schedule can sign, so nothing is withdrawn", {
      cause: error,
      hint: "Name a new key with --signer URI. signpost keygen makes one",
    });
  }
}

/** The key that signs from now on must be able to, before the other one is gone. */
async function requireSigning(
  target: Target,
  { origins }: Withdrawal,
  next: RotationKey,
  keys: OpenKeys,
): Promise<void> {
  const origin = origins[next.index];
  const { signer } = (origin === undefined ? undefined : target.schedule.entries[origin]) ?? {};
  if (signer === undefined) throw new TypeError("the key that signs has no signer");
  try {
    await keys.openAndProbe(`${next.label} would sign, and cannot`, signer);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const { exitCode, code, message, hint } = error;
    const way = "Nothing is withdrawn. Name another key with --signer URI";
    throw new CliError(exitCode, code, message, { cause: error, hint: hint === undefined ? way : `${hint} ${way}` });
  }
}

function proposalOf(target: Target, withdrawal: Withdrawal, at: number, kid: string): Proposal {
  const { source, path, now } = target;
  const { schedule, changes } = withdrawal;
  const after = inspectRotation(schedule, { path, now, trailing: source.config });
  requireSound(after, source.file.name);
  return {
    target,
    schedule,
    after,
    at,
    changes,
    question: `Withdraw ${printable(kid)}, and write this to ${printable(source.file.name)}?`,
    stillRight: () => requireSound(inspectRotation(schedule, { path, now: Date.now() }), source.file.name),
  };
}

interface Impact {
  readonly kid: string;
  readonly revoked: RotationKey;
  readonly next: RotationKey;
  readonly alive: TokensAlive;
  readonly withdrawal: Withdrawal;
  readonly at: number;
}

function printImpact(output: Output, { kid, revoked, next, alive, withdrawal, at }: Impact): void {
  const { colors } = output;
  const phase = phaseAt(revoked, at);
  output.line(`${colors.bold(`${printable(kid)} is ${phase}.`)} From now on ${next.label} signs.`);
  output.line(colors.bold("What this breaks"));
  const rows = [alive.words, ...withdrawal.breaks].map((words) => [`  ${colors.yellow("!")}`, printable(words)]);
  output.line(tableText(rows, output));
}

function report(
  context: CliContext,
  flags: EmergencyFlags,
  proposal: Proposal,
  { kid, next, alive, withdrawal }: Impact,
  outcome: Outcome,
): void {
  const { source } = proposal.target;
  const { file } = source;
  const { written, diff } = outcome;
  if (flags.json === true) {
    context.output.json({
      file: file.name,
      written,
      withdrawn: kid,
      signs: next.label,
      tokensAliveUntil: alive.until === undefined ? null : instantOrNull(alive.until),
      breaks: withdrawal.breaks,
      entries: withdrawal.schedule.entries,
      ...(diff === undefined ? {} : { diff }),
    });
  } else if (diff === undefined) {
    printSchedule(context, proposal);
  }
  printOutcome(context, flags, proposal, outcome, [
    `1. Disable ${printable(kid)} in its backend, if an attacker can use it there.`,
    "2. Roll this file out to every replica. Do not run the command on each: all need the same times.",
    `3. Refresh each shared cache: curl -H 'Cache-Control: no-cache' ${jwksUriOf(source) ?? "URL"}`,
    "4. Tell the relying parties. Some trust the key until they are restarted: see docs/emergency.md",
  ]);
}
