import type { JwkInput } from "@signpost/core";

/** What the function is told by its environment. */
export interface Settings {
  readonly issuer: string;
  /** The key that signs. */
  readonly keyArn: string;
  /** Its public half: with it a cold start needs no call of KMS. */
  readonly publicKey: JwkInput;
  /** Only published: the next key, before it signs, and old ones until their last token has expired. */
  readonly otherPublicKeys: readonly JwkInput[];
  /** When the last rotation began: the document is cached for minutes for a day from then. */
  readonly rotationStartedAt: string | undefined;
  /** An emulator, for development. AWS KMS itself without. */
  readonly kmsEndpoint: string | undefined;
}

// A variable that is set to nothing, as deployment tools do it, is not set.
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
