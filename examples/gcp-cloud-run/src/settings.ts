/** What the service is told by its environment. */
export interface Settings {
  readonly issuer: string;
  /** The first one signs; the others are published until their last token has expired. */
  readonly keyVersions: readonly string[];
  /** When the last rotation began: the document is cached for minutes for a day from then. */
  readonly rotationStartedAt: string | undefined;
  /** An emulator, for development. Cloud KMS itself without. */
  readonly kmsEndpoint: string | undefined;
  /** Given by Cloud Run. */
  readonly port: number;
}

// A variable that is set to nothing, as deployment tools do it, is not set.
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
  throw new Error("PORT is not a port");
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}
