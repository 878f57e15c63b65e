import { jwkThumbprint } from "@signpost/core";
import { ownConnection } from "../backends/own-connection.ts";
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
import { makeAzureKey } from "./azure-key-vault.ts";
import type { KeygenFlags } from "./command.ts";
import { makeGcpKey } from "./gcp-kms.ts";
import { makeLocalKey } from "./local.ts";
import { refuse, type MakeKey } from "./maker.ts";
import { makeTokenKey } from "./pkcs11.ts";
import { makeVaultKey } from "./vault-transit.ts";

const MAKERS: Readonly<Record<string, MakeKey>> = {
  local: makeLocalKey,
  awskms: makeKmsKey,
  gcpkms: makeGcpKey,
  vault: makeVaultKey,
  azurekms: makeAzureKey,
  pkcs11: makeTokenKey,
};

/** Where a key has versions, and where it may be in software. */
const VERSIONED = ["gcpkms", "vault", "azurekms"];
const PROTECTED = ["gcpkms", "azurekms"];

export async function runKeygen(context: CliContext, flags: KeygenFlags, uri: string): Promise<ExitCode> {
  const scheme = keyUriScheme(uri);
  const make = MAKERS[scheme];
  if (make === undefined) {
    throw refuse(`signpost makes no keys for ${scheme}:`, "Use the tools of the backend");
  }
  if (flags.newVersion === true && !VERSIONED.includes(scheme)) {
    throw refuse("--new-version is for Google Cloud KMS, Vault and Azure Key Vault");
  }
  if (flags.protection !== undefined && !PROTECTED.includes(scheme)) {
    throw refuse("--protection is for Google Cloud KMS and Azure Key Vault");
  }
  if (flags.protection !== undefined && flags.newVersion === true && scheme === "gcpkms") {
    throw refuse("--protection is that of the key", "Google Cloud KMS makes each version as the key says");
  }
  const adapters =
    flags.config === undefined ? {} : await resolvedAdapters(await loadConfig(context, flags.config), context);
  const options = adapters[scheme] ?? {};
  const own = ownConnection(options);
  if (own !== undefined) {
    // Its key would be made with other credentials, perhaps in another account.
    throw refuse(`keygen cannot use the option ${own} of the adapter`, "Use the tools of the backend");
  }
  const ask = pinAsker(context);
  // A mistake in its options, or a package that is missing, must not be found after a key was made that costs money.
  await loadAdapter(scheme, options, context.cwd);
  const open = keyOpener(context, adapters, ask);
  const made = await tellingLeftovers(context, (leaves) =>
    make({
      leaves,
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

/** Ctrl-C hides how the work fails, and a key that costs money must not be left behind without a word. */
async function tellingLeftovers<T>(
  { signal, messages, during }: CliContext,
  work: (leaves: (text: string) => void) => Promise<T>,
): Promise<T> {
  let left: string | undefined;
  const tell = (): void => {
    if (left !== undefined) messages.line(`${messages.colors.yellow("!")} ${printable(left)}`);
  };
  signal.addEventListener("abort", tell);
  try {
    return await during("Making the key", () => work((text) => (left = text)));
  } finally {
    signal.removeEventListener("abort", tell);
  }
}
