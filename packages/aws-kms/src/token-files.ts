import { stat } from "node:fs/promises";
import { ConfigurationError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";
import { CredentialsError } from "./credential-errors.ts";
import type { CredentialProvider } from "./credential-source.ts";
import { NO_CREDENTIALS } from "./error-table.ts";
import { environmentCredentials } from "./https/environment.ts";
import { profileTokenFiles } from "./profile-token-files.ts";

/** Variables with the path of a token, and those without one of which the SDK does not read it. */
const FILES = [
  { variable: "AWS_WEB_IDENTITY_TOKEN_FILE", needed: ["AWS_ROLE_ARN"] },
  {
    variable: "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    needed: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"],
  },
] as const;

/** A token has a few thousand bytes. */
const MAX_BYTES = 1_048_576;

/**
 * Lets a provider of the SDK begin only after the files of the platform's tokens were read here.
 *
 * The SDK reads them for each question, without a time limit. On a mount that hangs, it reads the token of a web identity
 * in the event loop, so that the whole process stands still, and each read of a container's token blocks one of the four
 * threads of libuv's pool, and so does each read of the token of SSO. Here all signers wait for one read.
 */
export function afterTokenFiles<Identity>(provide: CredentialProvider<Identity>): CredentialProvider<Identity> {
  return async (options) => {
    // The SDK takes these first, and reads no file.
    if (environmentCredentials() === undefined) await untilFilesAnswer();
    return provide(options);
  };
}

async function untilFilesAnswer(): Promise<void> {
  for (const { member, path } of await profileTokenFiles()) await untilFileAnswers(member, path);
  const file = FILES.find(({ variable, needed }) => isSet(variable) && needed.some(isSet));
  if (file !== undefined) await untilFileAnswers(file.variable, process.env[file.variable] ?? "");
}

function isSet(variable: string): boolean {
  return (process.env[variable] ?? "") !== "";
}

async function untilFileAnswers(name: string, path: string): Promise<void> {
  try {
    await readRegularFile(name, path, MAX_BYTES);
  } catch (error) {
    // The SDK says what else is wrong with it.
    if (!(error instanceof ConfigurationError) || (await isFolder(path))) return;
    const text = `${NO_CREDENTIALS.text}: ${error.message}`;
    throw new CredentialsError({ code: "access_denied", text }, undefined);
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
