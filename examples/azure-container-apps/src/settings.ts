/** The settings from the environment. */
export interface Settings {
  readonly issuer: string;
  /** Identifier of the key, without a version: `https://NAME.vault.azure.net/keys/KEY`. */
  readonly key: string;
  /** Signatures per second that the vault's quota leaves for this replica. */
  readonly signaturesPerSecond: number;
  /** How often the OP looks for new versions of the key. Milliseconds. */
  readonly refreshMs: number;
  readonly port: number;
}

// Deployment tools set unused variables to an empty string. These count as not set.
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    issuer: required(env, "ISSUER"),
    key: required(env, "KEY"),
    signaturesPerSecond: numberOf(env, "SIGNATURES_PER_SECOND", 50),
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
