import type { Signer } from "@signpost/core";
import { scriptedSigner } from "./scripted-signer.ts";

export const HOUR = 3_600_000;
/** The moment from which the tests count hours. */
export const EPOCH: number = Date.parse("2026-01-01T00:00:00Z");

export const atHour = (hours: number): Date => new Date(EPOCH + hours * HOUR);

/** A clock that tests set in hours. */
export function clock(hours: number): { now: () => number; set: (hours: number) => void } {
  let time = EPOCH + hours * HOUR;
  return {
    now: () => time,
    set: (next) => {
      time = EPOCH + next * HOUR;
    },
  };
}

export function someSigner(): Signer {
  return scriptedSigner().signer;
}
