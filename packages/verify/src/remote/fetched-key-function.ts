import { assertOptions } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { abortable } from "../http/abortable.ts";
import type { FindKey, FindsKeys, KeyFunction } from "../jwk/key-function.ts";
import { keyFunctionOf } from "../jwk/key-function.ts";
import { readSignal, requireSignal } from "../read-options.ts";

/** Options of `preload` and `refresh`. */
export interface FetchNowOptions {
  /** Releases this caller when it aborts: `KeySetError` `aborted`. The request continues for other callers. Default none. */
  readonly signal?: AbortSignal | undefined;
}

/** A key function that fetches its keys. `createRemoteKeySet` and `discoverKeySet` return one. */
export interface FetchedKeyFunction extends KeyFunction {
  /** The same key function for a caller that can abort. Aborting releases only that caller. */
  withSignal(signal: AbortSignal): KeyFunction;
  /** Fetches the keys, unless usable ones are stored. Rejects with `KeySetError`. */
  preload(options?: FetchNowOptions): Promise<void>;
  /**
   * Fetches everything immediately and bypasses every cache and throttle. Call it after an emergency revocation. The result replaces
   * the stored set. If a cache still answers with a copy that is older than the stored set, the stored set stays, and `stats()`
   * counts the copy as `older`. If the fetch fails, the stored set stays within its limits. Rejects with `KeySetError`.
   */
  refresh(options?: FetchNowOptions): Promise<void>;
}

/** The operations behind the function. */
export interface FetchedKeys {
  readonly find: FindKey;
  preload(signal: AbortSignal | undefined): Promise<void>;
  refresh(signal: AbortSignal | undefined): Promise<void>;
}

/** Makes the function that callers get. */
export function fetchedKeyFunction(keys: FetchedKeys): FetchedKeyFunction & FindsKeys {
  return Object.assign(keyFunctionOf(keys.find), {
    withSignal: (signal: AbortSignal): KeyFunction => {
      requireSignal("signal", signal);
      return keyFunctionOf((header, also) => abortable(keys.find(header, signal), also));
    },
    preload: async (options: FetchNowOptions = {}) => keys.preload(signalOf(options)),
    refresh: async (options: FetchNowOptions = {}) => keys.refresh(signalOf(options)),
  });
}

const FETCH_NOW_OPTIONS: OptionNames<FetchNowOptions> = { signal: true };

function signalOf(options: FetchNowOptions): AbortSignal | undefined {
  assertOptions("options", options, FETCH_NOW_OPTIONS);
  return readSignal("signal", options.signal);
}
