import { jwkThumbprint } from "@signpost/core";
import { resolvedAdapters } from "../config/config-keys.ts";
import { loadConfig } from "../config/load-config.ts";
import { probeOnce } from "../doctor/probe.ts";
import { keyUriScheme, loadAdapter } from "../keys/adapters.ts";
import { keyOpener, withKey } from "../keys/open-key.ts";
import { pinAsker, pinReader } from "../keys/secrets.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { printable } from "../terminal/printable.ts";
import { makeKmsKey } from "./aws-kms.ts";
import type { KeygenFlags } from "./command.ts";
import { makeGcpKey } from "./gcp-kms.ts";
import { makeLocalKey } from "./local.ts";
import { refuse, type MakeKey } from "./maker.ts";
import { makeTokenKey } from "./pkcs11.ts";

const MAKERS: Readonly<Record<string, MakeKey>> = {
  local: makeLocalKey,
  awskms: makeKmsKey,
  gcpkms: makeGcpKey,
  pkcs11: makeTokenKey,
};

export async function runKeygen(context: CliContext, flags: KeygenFlags, uri: string): Promise<ExitCode> {
  const scheme = keyUriScheme(uri);
  const make = MAKERS[scheme];
  if (make === undefined) {
    throw refuse(
      `signpost makes no keys for ${scheme}:`,
      scheme === "vault" ? "vault write -f transit/keys/op type=ecdsa-p256" : "Use the tools of the backend",
    );
  }
  if (scheme !== "gcpkms" && (flags.newVersion === true || flags.protection !== undefined)) {
    throw refuse("--new-version and --protection are for Google Cloud KMS");
  }
  const adapters =
    flags.config === undefined ? {} : await resolvedAdapters(await loadConfig(context, flags.config), context);
  const options = adapters[scheme] ?? {};
  const ask = pinAsker(context);
  // A mistake in its options, or a package that is missing, must not be found after a key was made that costs money.
  await loadAdapter(scheme, options, context.cwd);
  const open = keyOpener(context, adapters, ask);
  const made = await context.during("Making the key", () =>
    make({
      uri,
      options,
      context,
      newVersion: flags.newVersion === true,
      protection: flags.protection ?? "hsm",
      pin: () => pinReader(uri, options, context, ask),
      open,
    }),
  );
  // At once, so that the key is known even if its probe fails.
  context.messages.line(`${context.messages.colors.green("✓")} made ${printable(made)}`);
  return withKey(open, made, async (key) => {
    await context.during("Signing a probe", () => probeOnce(key, context.signal));
    context.messages.line(`${context.messages.colors.green("✓")} signed and verified a probe`);
    const kid = flags.keyId ?? jwkThumbprint(key.publicKey);
    const entry = { keyId: kid, signer: made };
    if (flags.json === true) context.output.json({ entry, publicKey: key.publicKey });
    else context.output.line(printable(JSON.stringify(entry)));
    return EXIT.ok;
  });
}
