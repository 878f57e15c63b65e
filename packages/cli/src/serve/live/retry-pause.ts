import { SignpostError } from "@signpost/core";
import { CliError } from "../../program/cli-error.ts";

const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

/**
 * The pause before the same is tried again after so many failures, or undefined if it would fail again: 1 s, 2 s, 4 s and so on, at
 * most 30 s, up to a fifth less, so that replicas spread. A refused PIN has the longest pause: its adapter reads it again, and never
 * sends one again that was refused.
 */
export function retryPauseMs(error: unknown, failures: number): number | undefined {
  const cause = origin(error);
  if (!(cause instanceof SignpostError)) return undefined;
  if (cause.code === "pin_incorrect") return LONGEST_MS;
  if (Reflect.get(cause, "transient") !== true) return undefined;
  const pause = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
  return Math.round(pause * (1 - Math.random() / 5));
}

/** The error below those that name the place. */
function origin(error: unknown): unknown {
  return error instanceof CliError && error.cause !== undefined ? origin(error.cause) : error;
}
