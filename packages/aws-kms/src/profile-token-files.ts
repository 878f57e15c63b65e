import { readRegularFile } from "@signpost/core/adapter";
import { configurationFiles } from "./https/environment.ts";

/** More than any configuration file has. */
const MAX_BYTES = 1_048_576;

/** The members of a profile that are needed here. */
interface Profile {
  readonly web_identity_token_file?: string;
  readonly source_profile?: string;
}

/**
 * The files with the token of a web identity that the profile in use names, and the profiles that it takes its credentials from.
 * The SDK itself says what is wrong with a file that cannot be read.
 */
export async function profileTokenFiles(): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const path of configurationFiles()) {
    const bytes = await readRegularFile("profile", path, MAX_BYTES).catch(() => new Uint8Array());
    texts.push(new TextDecoder().decode(bytes));
  }
  return tokenFilesIn(texts, process.env["AWS_PROFILE"] || "default");
}

/** Reads the text of the configuration file, and of the credentials file, as the SDK does. */
export function tokenFilesIn(texts: readonly string[], name: string): readonly string[] {
  const profiles = new Map<string, Profile>();
  for (const text of texts) readProfiles(text, profiles);
  const files: string[] = [];
  // Each profile once: a profile may be its own source.
  for (let next: string | undefined = name; next !== undefined;) {
    const { web_identity_token_file: file, source_profile: source }: Profile = profiles.get(next) ?? {};
    profiles.delete(next);
    if (file !== undefined) files.push(file);
    next = source;
  }
  return files;
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
