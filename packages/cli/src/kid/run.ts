import { jwkThumbprint } from "@signpost/core";
import { uriOpener } from "../config/config-keys.ts";
import { withKey } from "../keys/open-key.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import type { KidFlags } from "./command.ts";

export async function runKid(context: CliContext, { config, json }: KidFlags, uri: string): Promise<ExitCode> {
  return withKey(await uriOpener(context, config), uri, async (key) => {
    const kid = jwkThumbprint(key.publicKey);
    if (json === true) context.output.json({ kid, uri: key.uri, publicKey: key.publicKey });
    else context.output.line(kid);
    return EXIT.ok;
  });
}
