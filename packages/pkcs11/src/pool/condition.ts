import { SignerError, type SignerHealth } from "@signpost/core";
import { toPublicError } from "../wire/command-error.ts";
import type { PooledSession } from "./session.ts";

/**
 * Why work cannot even wait for a session: none is ready and none is on its way. Undefined also when there is no session
 * because all of them hang: one may come back yet, and until then a caller's time limit says best what is wrong.
 */
export function whyDown(sessions: readonly PooledSession[]): SignerError | undefined {
  const [first] = sessions;
  if (first === undefined || sessions.some(({ state }) => state !== "failed")) return undefined;
  const { message } = toPublicError(first.error);
  return new SignerError("unavailable", `no session is open: ${message}`, { cause: first.error });
}

export function statusOf(sessions: readonly PooledSession[]): SignerHealth["status"] {
  if (whyDown(sessions) !== undefined) return "down";
  const states = new Set(sessions.map(({ state }) => state));
  // One session that is being replaced while others sign is nothing to tell anybody about.
  const signing = states.has("idle") || states.has("busy");
  return signing && !states.has("failed") ? "ready" : "degraded";
}
