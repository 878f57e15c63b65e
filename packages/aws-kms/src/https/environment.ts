import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { createFileAccess } from "@signpost/core/adapter";
import { flagsOf, withGivenEndpoint, type GivenSettings, type Settings } from "../settings.ts";
import type { AwsKmsCredentials } from "./credential-store.ts";
import { publicEndpoint } from "./public-endpoint.ts";

/** A part of a host name. */
const HOST_LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/**
 * The settings, if the options and the environment alone decide them, as in a Lambda function. Undefined if the SDK must
 * read them: there is a configuration file, a profile or an endpoint in the environment, or a value that the SDK would
 * change or refuse.
 */
export async function environmentSettings(given: GivenSettings): Promise<Settings | undefined> {
  const region = given.region ?? valueOf("AWS_REGION");
  if (region === undefined || !HOST_LABEL.test(region) || region.includes("fips")) return undefined;
  const useFipsEndpoint = readFlagOf("AWS_USE_FIPS_ENDPOINT");
  const useDualstackEndpoint = readFlagOf("AWS_USE_DUALSTACK_ENDPOINT");
  if (useFipsEndpoint === undefined || useDualstackEndpoint === undefined) return undefined;
  if (valueOf("AWS_PROFILE") !== undefined) return undefined;
  const configured = ["AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL"].some((name) => process.env[name] !== undefined);
  if (configured && given.endpoint === undefined) return undefined;
  if (await hasFiles()) return undefined;
  const found = { region, useFipsEndpoint, useDualstackEndpoint, allowInsecureEndpoint: given.allowInsecureEndpoint };
  if (given.endpoint !== undefined) return withGivenEndpoint(found, given.endpoint);
  const flags = flagsOf(found);
  const notes = flags.length === 0 ? [] : [`endpoint ${publicEndpoint(found)} (${flags.join(", ")})`];
  return { ...found, endpoint: undefined, notes };
}

/** The credentials in the environment, which come first for the SDK too, unless a profile is named. */
export function environmentCredentials(): AwsKmsCredentials | undefined {
  const accessKeyId = valueOf("AWS_ACCESS_KEY_ID");
  const secretAccessKey = valueOf("AWS_SECRET_ACCESS_KEY");
  if (accessKeyId === undefined || secretAccessKey === undefined || valueOf("AWS_PROFILE") !== undefined)
    return undefined;
  const expiration = new Date(valueOf("AWS_CREDENTIAL_EXPIRATION") ?? "");
  return {
    accessKeyId,
    secretAccessKey,
    sessionToken: valueOf("AWS_SESSION_TOKEN"),
    // Without a time that can be read, KMS decides when they have expired.
    ...(!Number.isNaN(expiration.getTime()) && { expiration }),
  };
}

function valueOf(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}

/** Undefined for a value that the SDK refuses. */
function readFlagOf(name: string): boolean | undefined {
  const value = process.env[name];
  if (value === undefined || value === "false") return false;
  return value === "true" ? true : undefined;
}

/** The files may be on a mount that hangs. */
const once = createFileAccess<boolean>();

/** Where the SDK looks for its configuration, and for credentials. */
export function configurationFiles(): readonly string[] {
  return [fileOf("AWS_CONFIG_FILE", "config"), fileOf("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
}

async function hasFiles(): Promise<boolean> {
  const found = await Promise.all(
    configurationFiles().map((file) => once(file, () => access(file).then(() => true, isNotMissing))),
  );
  return found.includes(true);
}

/** What the SDK takes for the home of the user. */
export function homeFolder(): string {
  return valueOf("HOME") ?? valueOf("USERPROFILE") ?? homedir();
}

/** Where the SDK looks for a file. */
function fileOf(variable: string, name: string): string {
  const home = homeFolder();
  const path = valueOf(variable) ?? join(home, ".aws", name);
  return path.startsWith("~/") ? join(home, path.slice(2)) : path;
}

/** A file that cannot be read for another reason is left to the SDK, which says so. */
function isNotMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code !== "ENOENT";
}
