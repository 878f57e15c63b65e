import type { GuardedSigner } from "@signpost/core";
import type { AdaptersOptions } from "../backends/adapters.ts";
import { keyUriScheme } from "../backends/adapters.ts";

/** What opens the key of a URI. */
export type OpenKey = (uri: string, adapters: AdaptersOptions, signal: AbortSignal) => Promise<GuardedSigner>;

/** Open keys by URI. A configuration that is loaded again keeps the keys that it has in common with the one before. */
export interface KeyRing {
  /** The key of a URI, opened if it is not open with these options. */
  open(uri: string, adapters: AdaptersOptions): Promise<GuardedSigner>;
  /** The key, if it is open with these options. */
  find(uri: string, adapters: AdaptersOptions): GuardedSigner | undefined;
  /** Closes all keys but these. Resolves to the errors of those that could not be closed. */
  keepOnly(kept: ReadonlySet<GuardedSigner>): Promise<readonly unknown[]>;
}

export function createKeyRing(open: OpenKey, signal: AbortSignal): KeyRing {
  const keys = new Map<string, GuardedSigner>();
  const opening = new Map<string, Promise<GuardedSigner>>();

  const openNew = async (name: string, uri: string, adapters: AdaptersOptions): Promise<GuardedSigner> => {
    try {
      const key = await open(uri, adapters, signal);
      keys.set(name, key);
      return key;
    } finally {
      opening.delete(name);
    }
  };

  return {
    async open(uri, adapters) {
      const name = nameOf(uri, adapters);
      const known = keys.get(name) ?? opening.get(name);
      if (known !== undefined) return known;
      const opened = openNew(name, uri, adapters);
      opening.set(name, opened);
      return opened;
    },
    find: (uri, adapters) => keys.get(nameOf(uri, adapters)),
    async keepOnly(kept) {
      const dropped = [...keys].filter(([, key]) => !kept.has(key));
      for (const [name] of dropped) keys.delete(name);
      const closed = await Promise.allSettled(dropped.map(([, key]) => key.close()));
      return closed.filter((each) => each.status === "rejected").map(({ reason }): unknown => reason);
    },
  };
}

/** The same URI may lead to another key with other options. */
function nameOf(uri: string, adapters: AdaptersOptions): string {
  return JSON.stringify([uri, adapters[keyUriScheme("uri", uri)] ?? {}]);
}
