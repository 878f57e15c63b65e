import { azureKeyName, openAzureCalls } from "../../backends/azure-key-vault.ts";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import type { OpenRaw } from "../side.ts";
import { httpSide } from "./http.ts";
import { missingSdk } from "./missing-sdk.ts";
import { probeDigest } from "./text.ts";

/** `POST /keys/KEY/VERSION/sign`. */
export const openRawAzure: OpenRaw = async ({ keyUri, options, context }) => {
  const name = azureKeyName(keyUri);
  if (name === undefined) throw new CliError(EXIT.usage, "no_raw", "--raw cannot read the URI of this key");
  const calls = await openAzureCalls(name.host, options, context);
  if (calls === undefined) throw missingSdk("@azure/identity");
  const path = `/keys/${name.key}/${name.version}/sign`;
  return httpSide(
    () => calls.sendBare("POST", path, { alg: "ES256", value: probeDigest().toString("base64url") }),
    () => calls.close(),
  );
};
