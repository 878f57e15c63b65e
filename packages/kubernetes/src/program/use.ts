import type { JwksEndpoint } from "@signpost/core";
import type { LoadedConfig } from "../config/load-config.ts";
import { createSignerWith } from "../signer/create-signer.ts";
import { openKey } from "../backends/adapters.ts";
import { createLiveKeys, type LiveKeys } from "../keys/live-keys.ts";
import type { Publication } from "../signer/publication.ts";
import type { KubernetesSigner } from "../signer-types.ts";
import { failureOf } from "./failure.ts";
import type { Log } from "./log.ts";
import { publicEndpoint } from "./public-port.ts";

/** What a configuration is used for. */
export interface Use {
  readonly signer: KubernetesSigner;
  /** The public key set. Undefined if the configuration has none. */
  readonly endpoint: JwksEndpoint | undefined;
}

/** Keys that say in the log what becomes of those of the future. The signal ends the opening of keys. */
export function createKeys(log: Log, signal: AbortSignal): LiveKeys {
  return createLiveKeys({
    open: openKey,
    now: Date.now,
    signal,
    events: {
      onOpened: (place) => log("info", "key_opened", `${place} is open, and part of the schedule`),
      onUnopened: (place, error) => {
        const { code, message } = failureOf(error);
        log("error", "key_unopened", `${place} is not open, and the key before it signs until it is: ${message}`, {
          code,
        });
      },
      onUnclosed: (error) => {
        const { code, message } = failureOf(error);
        log("warn", "key_unclosed", `a key that is no longer used could not be closed: ${message}`, { code });
      },
    },
  });
}

export function createUse(loaded: LoadedConfig, keys: LiveKeys, publication: Publication, log: Log): Use {
  const { issuer, maxTokenLifetimeSeconds, refreshHintSeconds } = loaded.config;
  const signer = createSignerWith(
    { issuer, maxTokenLifetimeSeconds, refreshHintSeconds, legacyKeys: loaded.legacyKeys, keys: keys.schedule },
    publication,
  );
  const onError = (error: unknown): void => log("error", "jwks_failed", failureOf(error).message);
  return {
    // A key that a reload drops stays open until the tokens are signed that need it.
    signer: { ...signer, sign: (claims, options) => keys.during(() => signer.sign(claims, options)) },
    endpoint: publicEndpoint(loaded, keys.schedule, onError),
  };
}
