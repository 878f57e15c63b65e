import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";
import { askSecret, canAsk } from "../program/prompts.ts";
import type { AdapterOptions } from "./adapters.ts";

/**
 * Options with the secrets that a key URI refers to. Only PKCS#11 URIs do: `pin-source=file:` is read by the adapter,
 * `pin-source=env:NAME` and `pin-source=prompt:` here. Without `pin-source`, a person at a terminal is asked.
 */
export async function secretOptions(scheme: string, uri: string, context: CliContext): Promise<AdapterOptions> {
  if (scheme !== "pkcs11") return {};
  const source = pinSourceIn(uri);
  if (source === undefined && !canAsk(context)) return {};
  if (source === undefined || source.startsWith("prompt:")) {
    const pin = await askSecret(context, "PIN of the token");
    // The adapter asks again at each login, and a person has no time for that.
    return source === undefined ? { pin } : { pinSource: () => pin };
  }
  if (!source.startsWith("env:")) return {};
  const pin = variable(source.slice("env:".length), context.env);
  return { pinSource: () => pin };
}

/** RFC 7512 section 2.4. */
function pinSourceIn(uri: string): string | undefined {
  const value = /[?&]pin-source=([^&]*)/.exec(uri)?.[1];
  if (value === undefined) return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function variable(name: string, env: NodeJS.ProcessEnv): string {
  // The name of a variable cannot be a secret; what was written in its place can.
  const shown = /^[A-Z_][A-Z0-9_]*$/.test(name) ? `The variable ${name}` : "The variable of pin-source=env:";
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  throw new CliError(EXIT.usage, "secret_missing", `${shown} is not set, and the key URI says that it holds the PIN`);
}
