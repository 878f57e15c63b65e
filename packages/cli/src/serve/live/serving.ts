import {
  createJwksEndpoint,
  currentKeySet,
  type JwksEndpoint,
  type JwksEndpointOptions,
  type KeySet,
  type KeySetEntry,
  type KeySetSource,
  type RotationSchedule,
} from "@signpost/core";
import { withoutCertificates } from "../../config/certificate-files.ts";
import { readConfigKeys } from "../../config/config-keys.ts";
import { isSchedule } from "../../config/config.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { at } from "../../program/place.ts";
import type { KeyBook } from "./key-book.ts";
import { unopenedEntries } from "./key-book.ts";
import { isRotationSchedule, segmentsFrom, type Segment } from "./timeline.ts";

/** A configuration whose keys are read: what is served from now on. */
export interface Serving {
  readonly loaded: LoadedConfig;
  readonly endpoint: JwksEndpoint;
  readonly source: KeySetSource;
  readonly segments: readonly Segment[];
  readonly since: Date;
}

/** The state of the key set: what is served, and how it becomes something else. */
export interface Live {
  readonly serving: () => Serving | undefined;
  /** Reads the keys of a configuration and serves them. If it throws, what was served before stays. */
  adopt(loaded: LoadedConfig, again: boolean): Promise<Serving>;
  /** The set that the endpoint publishes now. Undefined if no keys are read yet. */
  readonly published: () => KeySet | undefined;
  /** Whether caches keep the set for a short time only. */
  readonly isRotationActive: () => boolean;
  /** When the set or its lifetime in caches changes next. */
  readonly nextChange: () => Date | null;
}

export type EndpointSettings = Pick<JwksEndpointOptions, "cors" | "weakIfNoneMatch" | "onError">;

/** How far into the past the picture of a schedule may go. */
const PAST_MS = 400 * 24 * 3_600_000;

export function createLive(book: KeyBook, settings: EndpointSettings): Live {
  let source: KeySetSource | undefined;
  let serving: Serving | undefined;
  // One function for all configurations: core remembers by it which key each kid has named.
  const keySet = (): KeySet => {
    if (source === undefined) throw new TypeError("no keys are read yet");
    return isRotationSchedule(source) ? source.keySet() : currentKeySet(source);
  };
  let last: KeySet | undefined;
  // As the endpoint does: while a schedule fails, such as with a clock before its first date, the set before stays.
  const published = (): KeySet | undefined => {
    try {
      if (source !== undefined) last = currentKeySet(keySet);
    } catch {
      // The endpoint reports it.
    }
    return last;
  };
  const schedule = (): RotationSchedule | undefined =>
    source !== undefined && isRotationSchedule(source) ? source : undefined;
  const jwksRotationActive = (): boolean => schedule()?.jwksRotationActive() === true;

  return {
    serving: () => serving,
    published,
    isRotationActive: () => quietly(jwksRotationActive) ?? false,
    nextChange: () => quietly(() => schedule()?.nextChange()) ?? null,
    async adopt(loaded, again) {
      const endpoint = await endpointOf(loaded, { ...settings, keys: keySet, jwksRotationActive });
      const entries = await book.read(loaded, again);
      const next = await readConfigKeys(loaded, entries);
      const start = startOf(loaded);
      // The past of a plan is not published again, so the certificates of today need not have been valid then.
      const planned = entries.map((entry) => withoutCertificates(entry) as KeySetEntry);
      const segments = await segmentsFrom(start, (now) => readConfigKeys(loaded, planned, now));
      const before = source;
      source = next;
      await at(`${loaded.name}: `, () => {
        try {
          last = currentKeySet(keySet);
        } catch (error) {
          source = before;
          throw error;
        }
      });
      serving = { loaded, endpoint, source: next, segments, since: new Date() };
      return serving;
    },
  };
}

/** Refuses what can be wrong in a configuration before a key is opened. Returns the path of the key set. */
export async function requireServable(loaded: LoadedConfig): Promise<string> {
  const source = await readConfigKeys(loaded, await unopenedEntries(loaded));
  const { pathname } = await endpointOf(loaded, { keys: source });
  return pathname;
}

function endpointOf(
  { config, name }: LoadedConfig,
  options: Omit<JwksEndpointOptions, "issuer">,
): Promise<JwksEndpoint> {
  const { issuer, mountPrefix, endpoints, allowInsecureIssuer } = config;
  return at(`${name}: `, () => createJwksEndpoint({ issuer, mountPrefix, endpoints, allowInsecureIssuer, ...options }));
}

/** The schedule has an active key at any time from its first activation on. */
function startOf({ config: { keys } }: LoadedConfig): number {
  if (!isSchedule(keys)) return Date.now();
  const activations = keys.entries.map(({ activeFrom }) =>
    typeof activeFrom === "string" ? Date.parse(activeFrom.toUpperCase()) : activeFrom.getTime(),
  );
  return Math.max(Math.min(...activations), Date.now() - PAST_MS);
}

function quietly<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
