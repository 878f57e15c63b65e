import { assertOptions } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import type { CryptoKey, JWSHeaderParameters } from "jose";
import type { KeyFunction } from "../jwk/key-function.ts";
import { readSignal, requireSignal } from "../read-options.ts";

/** Options of `preload` and `refresh`. */
export interface FetchNowOptions {
  /** Releases this caller when it aborts: `KeySetError` `aborted`. The request goes on for the others. Default none. */
  readonly signal?: AbortSignal | undefined;
}

/** A key function whose keys are fetched: what `createRemoteKeySet` and `discoverKeySet` have in common. */
export interface FetchedKeyFunction extends KeyFunction {
  /** The same key function for a caller that may leave: aborting releases that caller alone. */
  withSignal(signal: AbortSignal): KeyFunction;
  /** Fetches what is needed to verify, unless it is stored and usable. Rejects with `KeySetError`. */
  preload(options?: FetchNowOptions): Promise<void>;
  /**
   * Fetches everything now, past every cache and throttle: for an emergency revocation. What it brings replaces what is stored,
   * unless a cache answers all the same, with a copy that is older than the stored set: that one stays, and `stats()` counts it as
   * `older`. When it fails, the stored set stays within its limits. Rejects with `KeySetError`.
   */
  refresh(options?: FetchNowOptions): Promise<void>;
}

/** How a set is asked. */
export interface FetchedKeys {
  keyFor(header: JWSHeaderParameters | undefined, signal: AbortSignal | undefined): Promise<CryptoKey>;
  preload(signal: AbortSignal | undefined): Promise<void>;
  refresh(signal: AbortSignal | undefined): Promise<void>;
}

/** The function that callers get, over what asks the set. */
export function fetchedKeyFunction(keys: FetchedKeys): FetchedKeyFunction {
  return Object.assign((header?: JWSHeaderParameters) => keys.keyFor(header, undefined), {
    withSignal: (signal: AbortSignal): KeyFunction => {
      requireSignal("signal", signal);
      return (header) => keys.keyFor(header, signal);
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
