/** The settings from the environment. */
export interface Settings {
  readonly issuer: string;
  /** The first one signs. The others are published until their last token has expired. */
  readonly keyVersions: readonly string[];
  /** When the last rotation began. For a day after that, caches may keep the key set for only a few minutes. */
  readonly rotationStartedAt: string | undefined;
  /** An emulator, for development. Default: Cloud KMS. */
  readonly kmsEndpoint: string | undefined;
  /** Set by Cloud Run. */
  readonly port: number;
}

// Deployment tools set unused variables to an empty string. These count as not set.
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const keyVersions = required(env, "KEY_VERSIONS").split(",");
  return {
    issuer: required(env, "ISSUER"),
    keyVersions: keyVersions.map((name) => name.trim()),
    rotationStartedAt: env["ROTATION_STARTED_AT"] || undefined,
    kmsEndpoint: env["KMS_ENDPOINT"] || undefined,
    port: portOf(env["PORT"] || "8080"),
  };
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`PORT is not a port number: ${text}`);
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}
