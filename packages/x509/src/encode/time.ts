import { GeneralizedTime, UTCTime } from "asn1js";
import { ConfigurationError } from "@signpost/core";
import { readMoment } from "@signpost/core/adapter";
import { derOf } from "./der.ts";

const FIRST_YEAR = 1950;
const FIRST_GENERALIZED_YEAR = 2050;

/** A time of a certificate: UTCTime through 2049, GeneralizedTime from 2050 (RFC 5280 section 4.1.2.5). */
export function encodeTime(valueDate: Date): Uint8Array {
  return derOf(
    valueDate.getUTCFullYear() < FIRST_GENERALIZED_YEAR
      ? new UTCTime({ valueDate })
      : new GeneralizedTime({ valueDate }),
  );
}

/** A moment that the caller gave, without fractions of a second, which certificates do not have. */
export function readTime(argument: string, value: unknown): Date {
  const time = wholeSeconds(readMoment(argument, value));
  if (time.getUTCFullYear() >= FIRST_YEAR) return time;
  throw new ConfigurationError(argument, `expected a time from ${FIRST_YEAR}, got ${time.toISOString()}`);
}

export function wholeSeconds(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000);
}
