import type { JwkInput } from "@signpost/core";

/** What the function is told by its environment. */
export interface Settings {
  readonly issuer: string;
  /** The key that signs. */
  readonly keyArn: string;
  /** Its public half: with it a cold start needs no call of KMS. */
  readonly publicKey: JwkInput;
  /** Published until their last token has expired; they sign nothing any more. */
  readonly retiringPublicKeys: readonly JwkInput[];
  /** When the last rotation began: the document is cached for minutes for a day from then. */
  readonly rotationStartedAt: string | undefined;
  /** An emulator, for development. AWS KMS itself without. */
  readonly kmsEndpoint: string | undefined;
}

export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    issuer: required(env, "ISSUER"),
    keyArn: required(env, "KEY_ARN"),
    publicKey: JSON.parse(required(env, "PUBLIC_KEY")) as JwkInput,
    retiringPublicKeys: JSON.parse(env["RETIRING_PUBLIC_KEYS"] ?? "[]") as readonly JwkInput[],
    rotationStartedAt: env["ROTATION_STARTED_AT"],
    kmsEndpoint: env["KMS_ENDPOINT"],
  };
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}
