import type { JwkInput } from "@signpost/core";

/** The settings from the environment. */
export interface Settings {
  readonly issuer: string;
  /** The key that signs. */
  readonly keyArn: string;
  /** Its public half. With it, a cold start needs no KMS call. */
  readonly publicKey: JwkInput;
  /** Keys that are only published: the next key before it signs, and old keys until their last token has expired. */
  readonly otherPublicKeys: readonly JwkInput[];
  /** When the last rotation began. For a day after that, caches may keep the key set for only a few minutes. */
  readonly rotationStartedAt: string | undefined;
  /** An emulator, for development. Default: AWS KMS. */
  readonly kmsEndpoint: string | undefined;
}

// Deployment tools set unused variables to an empty string. These count as not set.
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    issuer: required(env, "ISSUER"),
    keyArn: required(env, "KEY_ARN"),
    publicKey: parsed("PUBLIC_KEY", required(env, "PUBLIC_KEY")) as JwkInput,
    otherPublicKeys: parsed("OTHER_PUBLIC_KEYS", env["OTHER_PUBLIC_KEYS"] || "[]") as readonly JwkInput[],
    rotationStartedAt: env["ROTATION_STARTED_AT"] || undefined,
    kmsEndpoint: env["KMS_ENDPOINT"] || undefined,
  };
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

function parsed(name: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new Error(`${name} is not JSON`, { cause });
  }
}
