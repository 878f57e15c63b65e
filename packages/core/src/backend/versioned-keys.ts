import { closedError } from "../signer/endings.ts";

/** A version of a key, as an entry of a schedule. It has a signer or a public key. */
export interface VersionEntry {
  /** Name or number of the version. */
  readonly keyVersion: string | number;
  /** From when on the version is published. */
  readonly announcedFrom?: unknown;
  /** From when on the version signs. */
  readonly activeFrom?: unknown;
  /** The public half of a version that cannot sign. */
  readonly publicKey?: unknown;
}

/** The versions of a key, which are listed again on demand. */
export interface VersionedKeys<Version> extends AsyncDisposable {
  /** The versions of the last list. The same array until `refresh()` found a change. */
  readonly versions: readonly Version[];
  /** Lists the versions again. Resolves with true if `versions` changed. Calls at the same time share one list. */
  refresh(): Promise<boolean>;
  /** Ends a refresh, then closes everything. Can be called again. */
  close(): Promise<void>;
}

/**
 * Keeps the versions of a key, for adapters whose backend lists them. `list` gets a signal, which `close()` aborts. `refresh`
 * rejects as `list` does, and with `closed` after `close()`.
 *
 * @example
 * ```ts
 * import type { ScheduledEntry } from "@signpost/core";
 * import { createVersionedKeys } from "@signpost/core/adapter";
 *
 * type Version = ScheduledEntry & { readonly keyVersion: number };
 * declare function list(signal?: AbortSignal): Promise<readonly Version[]>;
 * declare function closeAll(): Promise<void>;
 *
 * const keys = createVersionedKeys(await list(), list, closeAll);
 * ```
 */
export function createVersionedKeys<Version extends VersionEntry>(
  first: readonly Version[],
  list: (signal: AbortSignal) => Promise<readonly Version[]>,
  closeAll: () => Promise<void>,
): VersionedKeys<Version> {
  const ending = new AbortController();
  let versions = first;
  let refreshing: Promise<boolean> | undefined;
  let closing: Promise<void> | undefined;
  const refresh = async (): Promise<boolean> => {
    if (closing !== undefined) throw closedError();
    const found = await list(ending.signal);
    if (describe(found) === describe(versions)) return false;
    versions = found;
    return true;
  };
  const close = async (): Promise<void> => {
    ending.abort(closedError());
    await refreshing?.catch(() => undefined);
    await closeAll();
  };
  const keys: VersionedKeys<Version> = {
    get versions() {
      return versions;
    },
    refresh: () => {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => keys.close(),
  };
  return Object.freeze(keys);
}

/** What makes two lists differ. A signer belongs to one version, whose public key never changes. */
function describe(versions: readonly VersionEntry[]): string {
  return JSON.stringify(
    versions.map((version) => [
      version.keyVersion,
      "signer" in version || version.publicKey,
      version.announcedFrom,
      version.activeFrom,
    ]),
  );
}
