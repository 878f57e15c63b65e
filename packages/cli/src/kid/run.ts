import { jwkThumbprint } from "@signpost/core";
import { withKey } from "../keys/open-key.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import type { CommonFlags } from "../program/runnable.ts";

export async function runKid(context: CliContext, { json }: CommonFlags, uri: string): Promise<ExitCode> {
  return withKey(uri, context, async (key) => {
    const kid = jwkThumbprint(key.publicKey);
    if (json === true) context.output.json({ kid, uri: key.uri, publicKey: key.publicKey });
    else context.output.line(kid);
    return EXIT.ok;
  });
}
