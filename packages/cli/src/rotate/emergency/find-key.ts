import { jwkThumbprint } from "@signpost/core";
import { p256JwkFrom } from "@signpost/core/adapter";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import { printable } from "../../terminal/printable.ts";
import type { OpenKeys } from "../change/open-keys.ts";
import type { Target } from "../change/target.ts";
import { labelOf } from "../source.ts";

/** The entry with a kid, by its index. A key is opened only if its kid is its thumbprint and no entry names the kid. */
export async function findKey(target: Target, kid: string, keys: OpenKeys): Promise<number> {
  const { entries } = target.schedule;
  const named = entries.findIndex(({ keyId }) => keyId === kid);
  if (named !== -1) return named;
  const unknown: string[] = [];
  for (const [index, { keyId, signer, publicKey }] of entries.entries()) {
    if (keyId !== undefined) continue;
    if (signer === undefined) {
      if (jwkThumbprint(p256JwkFrom(publicKey, `entries[${index}].publicKey`)) === kid) return index;
      continue;
    }
    const thumbprint = await keys.open(`entries[${index}]`, signer).then(
      (opened) => jwkThumbprint(opened.publicKey),
      (error: unknown) => {
        if (!(error instanceof CliError)) throw error;
        unknown.push(printable(signer));
      },
    );
    if (thumbprint === kid) return index;
  }
  const known = entries.map((entry, index) => printable(labelOf(entry, `entries[${index}]`)));
  const hint = unknown.length === 0 ? "" : `. These could not be opened to see theirs: ${unknown.join(", ")}`;
  throw new CliError(EXIT.usage, "unknown_kid", `No entry has the kid ${printable(JSON.stringify(kid))}`, {
    hint: `The keys are ${known.join(", ")}${hint}`,
  });
}
