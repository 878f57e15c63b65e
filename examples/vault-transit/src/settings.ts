import type { VaultTransitAuth } from "@signpost/vault-transit";

/** The settings from the environment. The adapter reads VAULT_ADDR, VAULT_CACERT and the others itself. */
export interface Settings {
  readonly issuer: string;
  /** Name of the key. */
  readonly key: string;
  /** Path of the Transit engine. */
  readonly mount: string;
  /** Undefined: the token in VAULT_TOKEN. */
  readonly auth: VaultTransitAuth | undefined;
  /** How often the OP looks for new versions of the key. Milliseconds. */
  readonly refreshMs: number;
  readonly port: number;
}

// Deployment tools set unused variables to an empty string. These count as not set.
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const role = env["VAULT_ROLE"] || undefined;
  const jwtFile = env["JWT_FILE"] || undefined;
  return {
    issuer: required(env, "ISSUER"),
    key: env["KEY"] || "op",
    mount: env["MOUNT"] || "transit",
    auth: role === undefined ? undefined : { method: "kubernetes", role, jwtFile },
    refreshMs: 1000 * numberOf(env, "REFRESH_SECONDS", 60),
    port: numberOf(env, "PORT", 3000),
  };
}

function numberOf(env: NodeJS.ProcessEnv, name: string, fallback: number): number {
  const text = env[name] || String(fallback);
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`${name} is not a number up to 65535: ${text}`);
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}
