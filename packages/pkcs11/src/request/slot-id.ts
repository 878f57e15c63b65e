import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/** A CK_SLOT_ID has at most 64 bits. */
const MOST = 2n ** 64n - 1n;

/**
 * The number of a slot in decimal digits without leading zeros. Some modules number slots above 2^53, where JavaScript
 * numbers lose digits. Text stays exact in messages and in JSON. Undefined for anything that is not a slot number.
 */
export function slotIdFrom(value: unknown): string | undefined {
  const number = wholeNumber(value);
  return number !== undefined && number >= 0n && number <= MOST ? number.toString() : undefined;
}

/** The option `slotId`. @throws ConfigurationError */
export function readSlotId(value: unknown): string {
  const slotId = slotIdFrom(value);
  if (slotId !== undefined) return slotId;
  throw new ConfigurationError(
    "slotId",
    typeof value === "number" && Number.isInteger(value) && value > Number.MAX_SAFE_INTEGER
      ? "expected a bigint or decimal text from 2^53 up, where a number is not exact"
      : `expected a whole number from 0 to 2^64 - 1 as a number, bigint or decimal text, got ${given(value)}`,
  );
}

function wholeNumber(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  return typeof value === "string" && /^[0-9]{1,20}$/.test(value) ? BigInt(value) : undefined;
}
