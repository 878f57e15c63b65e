import { ConfigurationError, SignerError } from "@signpost/core";
import { afterScheme, isPlainObject, readRegularFile } from "@signpost/core/adapter";

/** Options whose values are secrets, in all adapters. */
export const SECRETS: ReadonlySet<string> = new Set(["pin", "token", "secretId"]);
/** More than any secret has. */
const MAX_BYTES = 65_536;

type Environment = Readonly<Record<string, string | undefined>>;

/** Options of an adapter with functions in place of its references to secrets, `env:NAME` and `file:PATH`. */
export function withSecrets(path: string, value: unknown, env: Environment): unknown {
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const place = `${path}.${name}`;
      if (name === "allowPinValue" && member === true) {
        throw new ConfigurationError(place, "expected no PIN in a URI; use pin-source=file: or pin-source=env:");
      }
      return [name, SECRETS.has(name) ? secretReader(place, member, env) : withSecrets(place, member, env)];
    }),
  );
}

function secretReader(place: string, reference: unknown, env: Environment): () => Promise<string> {
  const text = typeof reference === "string" ? reference : "";
  const name = afterScheme(text, "env");
  if (name !== undefined) return async () => variable(place, name, env);
  const path = afterScheme(text, "file");
  if (path !== undefined && path !== "") return () => fromFile(place, path);
  throw new ConfigurationError(place, "expected where the secret is: env:NAME or file:PATH");
}

/** The value of a variable that holds a secret. */
export function variable(place: string, name: string, env: Environment): string {
  const value = env[name];
  if (value !== undefined && value !== "") return value;
  // The name of a variable is no secret. What was written in its place may be one.
  const shown = /^[A-Z_][A-Z0-9_]*$/.test(name) ? `the variable ${name}` : "the variable that env: names";
  throw new SignerError("unavailable", `${place}: ${shown} is not set, and should hold a secret`);
}

/** Without the path, which may be a secret in the wrong place. */
function reasonOf(cause: unknown): string {
  return cause instanceof ConfigurationError ? cause.message : String(Reflect.get(Object(cause), "code"));
}

/** Without a byte order mark, and without one line end. */
async function fromFile(place: string, path: string): Promise<string> {
  try {
    const bytes = await readRegularFile("secret", path, MAX_BYTES);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch (cause) {
    throw new SignerError("unavailable", `${place}: the file of a secret cannot be read (${reasonOf(cause)})`, {
      cause,
    });
  }
}
