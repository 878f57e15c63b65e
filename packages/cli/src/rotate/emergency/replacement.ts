import { jwkThumbprint, type Signer } from "@signpost/core";
import type { ConfigEntry } from "../../config/config.ts";
import { CliError } from "../../program/cli-error.ts";
import type { CliContext } from "../../program/context.ts";
import { printable } from "../../terminal/printable.ts";
import type { OpenKeys } from "../change/open-keys.ts";
import type { Target } from "../change/target.ts";
import { labelOf } from "../source.ts";
import type { EmergencyFlags } from "./command.ts";
import type { Replacement } from "./withdraw.ts";

/** Opens the key of `--signer`, which signs and verifies a probe, and the keys that it must not be. */
export async function openReplacement(
  context: CliContext,
  flags: EmergencyFlags,
  { schedule }: Target,
  keys: OpenKeys,
): Promise<Replacement | undefined> {
  if (flags.signer === undefined) return undefined;
  const signer = await keys.openAndProbe("--signer", flags.signer);
  const keyId = flags.keyId ?? jwkThumbprint(signer.publicKey);
  const others = await openOthers(context, schedule.entries, keys);
  return { entry: { keyId, signer: flags.signer }, opened: { keyId, signer }, others };
}

/**
 * The keys that a new key must not be, by their index: an alias may still lead to the stolen key. A key that does not open is not
 * compared, because its backend may be the reason for the emergency.
 */
async function openOthers(
  context: CliContext,
  entries: readonly ConfigEntry[],
  keys: OpenKeys,
): Promise<readonly (Signer | undefined)[]> {
  const { colors } = context.messages;
  const opened: (Signer | undefined)[] = [];
  for (const [index, entry] of entries.entries()) {
    const { signer } = entry;
    const name = printable(labelOf(entry, `entries[${index}]`));
    const key = signer === undefined ? undefined : keys.open(`not compared with ${name}`, signer);
    opened.push(
      await key?.catch((error: unknown) => {
        if (!(error instanceof CliError)) throw error;
        context.messages.line(`${colors.yellow("!")} ${printable(error.message)}`);
        return undefined;
      }),
    );
  }
  return opened;
}
