import { serializeJwks } from "@signpost/core";
import type { Log } from "../log.ts";
import type { Live } from "./serving.ts";

/** Often enough for a log. What is served needs no timer: a schedule reads its clock at each request. */
const LOOK_MS = 1000;

/** Logs each change of the key set or of its lifetime in caches. */
export function watchKeySet({ published, isRotationActive, nextChange }: Live, log: Log, signal: AbortSignal): void {
  let before: string | undefined;
  const look = (): void => {
    const [set, isShort] = [published(), isRotationActive()];
    if (set === undefined) return;
    const kids = set.keys.map(({ keyId, role }) => `${keyId} (${role})`).join(", ");
    const message = `publishes ${kids}; cached for ${isShort ? "5 minutes" : "1 hour"}`;
    const { etag } = serializeJwks(set);
    // By their content, since each load makes another set.
    const now = `${etag} ${message}`;
    if (now === before) return;
    before = now;
    log("info", "keys", message, {
      etag,
      active: set.active.keyId,
      rotation: isShort,
      nextChange: nextChange()?.toISOString() ?? null,
    });
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
