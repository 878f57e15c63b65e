import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import type { OpenRaw } from "../side.ts";
import { openRawKms } from "./aws-kms.ts";
import { openRawAzure } from "./azure-key-vault.ts";
import { openRawGcp } from "./gcp-kms.ts";
import { openRawLocal } from "./local.ts";
import { openRawToken } from "./pkcs11.ts";
import { openRawVault } from "./vault-transit.ts";

const RAW: Readonly<Record<string, OpenRaw>> = {
  local: openRawLocal,
  awskms: openRawKms,
  gcpkms: openRawGcp,
  vault: openRawVault,
  azurekms: openRawAzure,
  pkcs11: openRawToken,
};

/** Opens the bare call of the backend of a scheme. */
export function rawOf(scheme: string): OpenRaw {
  const open = RAW[scheme];
  if (open === undefined) throw new CliError(EXIT.usage, "no_raw", `There is no bare call for ${scheme}:`);
  return open;
}
