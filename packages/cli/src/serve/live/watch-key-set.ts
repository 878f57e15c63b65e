import { serializeJwks, type KeySet } from "@signpost/core";
import type { Log } from "../log.ts";
import type { Live } from "./serving.ts";

/** Often enough for a log. What is served needs no timer: a schedule reads its clock at each request. */
const LOOK_MS = 1000;

/** Logs each change of the key set or of its lifetime in caches. */
export function watchKeySet({ published, isRotationActive, nextChange }: Live, log: Log, signal: AbortSignal): void {
  let before: { readonly set: KeySet; readonly isShort: boolean } | undefined;
  const look = (): void => {
    const [set, isShort] = [published(), isRotationActive()];
    if (set === undefined || (set === before?.set && isShort === before.isShort)) return;
    before = { set, isShort };
    const kids = set.keys.map(({ keyId, role }) => `${keyId} (${role})`).join(", ");
    log("info", "keys", `publishes ${kids}; cached for ${isShort ? "5 minutes" : "1 hour"}`, {
      etag: serializeJwks(set).etag,
      active: set.active.keyId,
      rotation: isShort,
      nextChange: nextChange()?.toISOString() ?? null,
    });
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
