import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { SIGN_CHANNEL, type GuardedSigner, type SignEvent } from "@signpost/core";
import { probeOnce } from "../doctor/probe.ts";
import { failureOf } from "../program/failure.ts";
import type { Side } from "./side.ts";

/** Signatures as tokens get them: through the guard, and verified with the public key. */
export function guardedSide(key: GuardedSigner, signal: AbortSignal): Side {
  return {
    name: "signpost",
    sign: () => probeOnce(key, signal),
    codeOf: (error) => failureOf(error).code,
    close: () => key.close(),
  };
}

/** Counts the calls of the backend that guarded signers make. */
export interface AttemptCount {
  readonly attempts: number;
  /** Attempts after the first one of a call, and hedges. */
  readonly repeats: number;
  stop(): void;
}

export function countAttempts(): AttemptCount {
  const count = { attempts: 0, repeats: 0 };
  const listener = (message: unknown): void => {
    const { attempts, hedges = 0 } = message as SignEvent;
    count.attempts += attempts + hedges;
    count.repeats += Math.max(attempts - 1, 0) + hedges;
  };
  subscribe(SIGN_CHANNEL, listener);
  return {
    get attempts() {
      return count.attempts;
    },
    get repeats() {
      return count.repeats;
    },
    stop: () => void unsubscribe(SIGN_CHANNEL, listener),
  };
}
