import { createKeySet, signJwt, type JwtClaims, type KeySetSource } from "@signpost/core";
import { openConfigKeys, uriOpener } from "../config/config-keys.ts";
import { loadConfig } from "../config/load-config.ts";
import { withKey } from "../keys/open-key.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { readJson } from "../program/json.ts";
import { readStdin } from "../program/stdin.ts";
import type { SignFlags } from "./command.ts";

const MAX_BYTES = 65_536;
const DEFAULT_SECONDS = 300;

export async function runSign(context: CliContext, flags: SignFlags, uri?: string): Promise<ExitCode> {
  const claims = await readClaims(await readStdin(context, "a JSON object with claims", MAX_BYTES));
  if (uri !== undefined) {
    const open = await uriOpener(context, flags.config);
    return withKey(open, uri, async (signer) => {
      const keys = createKeySet([{ signer, ...(flags.keyId === undefined ? {} : { keyId: flags.keyId }) }]);
      return print(context, flags, await sign(context, flags, keys, claims));
    });
  }
  if (flags.keyId !== undefined) {
    throw new CliError(
      EXIT.usage,
      "flags",
      "--key-id names the key of a URI; in a configuration each entry has its keyId",
    );
  }
  const loaded = await loadConfig(context, flags.config);
  const { keys, close } = await openConfigKeys(loaded, context);
  try {
    const { issuer } = loaded.config;
    return print(context, flags, await sign(context, flags, keys, { iss: issuer, ...claims }));
  } finally {
    await close();
  }
}

async function readClaims(text: string): Promise<JwtClaims> {
  const read = await readJson(text);
  const claims = "value" in read ? read.value : undefined;
  if (typeof claims === "object" && claims !== null && !Array.isArray(claims)) return claims as JwtClaims;
  if ("fault" in read) {
    const { fault, line, column } = read;
    throw new CliError(EXIT.usage, "claims", `stdin: line ${line}, column ${column}: ${fault}`, {
      hint: 'Claims are a JSON object, such as {"sub":"test"}',
    });
  }
  throw new CliError(EXIT.usage, "claims", 'stdin: expected a JSON object with claims, such as {"sub":"test"}');
}

function sign(context: CliContext, flags: SignFlags, keys: KeySetSource, claims: JwtClaims): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const complete = { exp: now + (flags.expiresIn ?? DEFAULT_SECONDS), ...claims };
  const options = { signal: context.signal, ...(flags.typ === undefined ? {} : { typ: flags.typ }) };
  return context.during("Signing", () => signJwt(keys, complete, options));
}

function print({ output }: CliContext, { json }: SignFlags, token: string): ExitCode {
  const [header, claims] = token.split(".").map((part) => Buffer.from(part, "base64url").toString());
  if (json === true) output.json({ token, header: JSON.parse(header ?? ""), claims: JSON.parse(claims ?? "") });
  else output.line(token);
  return EXIT.ok;
}
