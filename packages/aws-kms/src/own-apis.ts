import type { AwsKmsApi } from "./api.ts";
import type { Settings } from "./settings.ts";

/** The settings of the transports that this package makes. The interface for calls does not show them. */
const settings = new WeakMap<AwsKmsApi, () => Promise<Settings>>();

/** Remembers how to find the settings of a transport. Finding them makes no call. */
export function rememberSettings(api: AwsKmsApi, find: () => Promise<Settings>): void {
  settings.set(api, find);
}

/** The Region, the endpoint and the notes of a transport. Undefined for one that the caller wrote. */
export async function settingsOf(api: AwsKmsApi): Promise<Settings | undefined> {
  return settings.get(api)?.();
}
