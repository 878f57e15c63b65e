import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { readRegularFile } from "@signpost/core/adapter";
import { configurationFiles, homeFolder } from "./https/environment.ts";

/** More than any configuration file has. */
const MAX_BYTES = 1_048_576;

/** The members of a profile that are needed here. */
interface Profile {
  readonly web_identity_token_file?: string;
  readonly sso_session?: string;
  readonly sso_start_url?: string;
  readonly login_session?: string;
  readonly source_profile?: string;
}

/** A file with a token. */
export interface TokenFile {
  /** The member of the profile that leads to it. */
  readonly member: keyof Profile;
  readonly path: string;
}

/**
 * The files with tokens to which the profile in use leads, and the profiles that it takes its credentials from: of a web identity,
 * of SSO, and of `aws login`. The SDK itself says what is wrong with a file that cannot be read.
 */
export async function profileTokenFiles(): Promise<readonly TokenFile[]> {
  const texts: string[] = [];
  for (const path of configurationFiles()) {
    const bytes = await readRegularFile("profile", path, MAX_BYTES).catch(() => new Uint8Array());
    texts.push(new TextDecoder().decode(bytes));
  }
  return tokenFilesIn(texts, process.env["AWS_PROFILE"] || "default");
}

/** Reads the text of the configuration file, and of the credentials file, as the SDK does. */
export function tokenFilesIn(texts: readonly string[], name: string): readonly TokenFile[] {
  const profiles = new Map<string, Profile>();
  for (const text of texts) readProfiles(text, profiles);
  const files: TokenFile[] = [];
  // Each profile once: a profile may be its own source.
  for (let next: string | undefined = name; next !== undefined;) {
    const profile: Profile = profiles.get(next) ?? {};
    profiles.delete(next);
    files.push(...filesOf(profile));
    next = profile.source_profile;
  }
  return files;
}

function filesOf(profile: Profile): readonly TokenFile[] {
  const { web_identity_token_file: file, login_session: login } = profile;
  const sso = profile.sso_session === undefined ? "sso_start_url" : "sso_session";
  const cached = profile[sso];
  return [
    ...(file === undefined ? [] : [{ member: "web_identity_token_file", path: file } as const]),
    ...(cached === undefined ? [] : [{ member: sso, path: join(ssoFolder(), cacheName("sha1", cached)) } as const]),
    ...(login === undefined
      ? []
      : [{ member: "login_session", path: join(loginFolder(), cacheName("sha256", login)) } as const]),
  ];
}

function ssoFolder(): string {
  return join(homeFolder(), ".aws", "sso", "cache");
}

function loginFolder(): string {
  return process.env["AWS_LOGIN_CACHE_DIRECTORY"] ?? join(homedir(), ".aws", "login", "cache");
}

/** The name that the tools of AWS give to the file of a session. */
function cacheName(algorithm: "sha1" | "sha256", session: string): string {
  return `${createHash(algorithm).update(session).digest("hex")}.json`;
}

const SECTION = /^\[(?:profile\s+)?(["']?)([^"'\]]+)\1\]$/;

function readProfiles(text: string, profiles: Map<string, Profile>): void {
  let section: string | undefined;
  for (const whole of text.split(/\r?\n/)) {
    const line = (whole.split(/(?:^|\s)[;#]/)[0] ?? "").trim();
    const isSection = line.startsWith("[") && line.endsWith("]");
    if (isSection) section = SECTION.exec(line)?.[2]?.trim();
    const equals = line.indexOf("=");
    if (isSection || section === undefined || equals < 1) continue;
    const member = line.slice(0, equals).trim();
    const value = line.slice(equals + 1).trim();
    if (value !== "") profiles.set(section, { ...profiles.get(section), [member]: value });
  }
}
