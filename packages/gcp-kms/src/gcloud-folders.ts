import { join } from "node:path";

/**
 * Where gcloud may keep its files. Some versions of the SDK look for credentials only in the default folder, whatever
 * CLOUDSDK_CONFIG says.
 */
export function gcloudFolders(): readonly string[] {
  const { CLOUDSDK_CONFIG: configured = "", APPDATA: roaming = "", HOME: home = "" } = process.env;
  const isWindows = process.platform === "win32";
  const parent = isWindows ? roaming : home && join(home, ".config");
  const usual = parent === "" ? "" : join(parent, "gcloud");
  return [configured, usual].filter((folder) => folder !== "");
}
