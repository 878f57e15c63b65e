import { openRest } from "../../backends/rest.ts";
import { tlsOf, vaultAddress, vaultHeaders, vaultKeyName } from "../../backends/vault-transit.ts";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import type { OpenRaw } from "../side.ts";
import { httpSide } from "./http.ts";
import { probeDigest } from "./text.ts";

/** `POST /v1/MOUNT/sign/KEY/sha2-256`. */
export const openRawVault: OpenRaw = async ({ keyUri, options, context }) => {
  const { env, cwd } = context;
  const [address, headers] = [vaultAddress(options, env), await vaultHeaders(options, context)];
  const name = vaultKeyName(keyUri);
  if (address === undefined || headers === undefined || name === undefined) {
    throw new CliError(EXIT.usage, "no_token", "--raw needs a token, and does not log in", {
      hint: "Set VAULT_TOKEN, or leave --raw out",
    });
  }
  const server = await openRest(address, tlsOf(options, env), cwd);
  const path = `/v1/${name.mount}/sign/${name.key}/sha2-256`;
  const rest = { prehashed: true, marshaling_algorithm: "asn1", key_version: Number(name.version ?? 0) };
  return httpSide(
    () => server.send({ method: "POST", path, headers, body: { input: probeDigest().toString("base64"), ...rest } }),
    () => server.close(),
  );
};
