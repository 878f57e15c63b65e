import { createHmac, randomBytes } from "node:crypto";
import { elapsedMs } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";
import type { FetchLimits } from "../http/fetch-limits.ts";

/** The limits of dropped sets, kept while they still limit requests. */
export interface DroppedLimits {
  /** The limits of this owner if they still apply. Otherwise new ones. */
  take(owner: string): FetchLimits;
  /** Keeps them for the owner's next set. */
  keep(owner: string, limits: FetchLimits): void;
}

export interface DroppedLimitsOptions {
  /** After this time, no limits apply any more. */
  readonly holdMs: number;
  readonly instant: () => Instant;
  readonly create: () => FetchLimits;
}

interface Row {
  readonly digest: string;
  readonly limits: FetchLimits;
  readonly keptAt: Instant;
}

const BUCKETS = 4096;
const ROWS_PER_BUCKET = 8;

/**
 * A table of fixed size. An attack that pushes sets out of the cache would also push their limits out of a second cache, so each row
 * stays for a fixed time. A hash with a random key distributes the owners, so an attacker cannot fill a chosen bucket. If a bucket is
 * full, an owner that is not in it may have been left out, so its first request must wait.
 */
export function createDroppedLimits({ holdMs, instant, create }: DroppedLimitsOptions): DroppedLimits {
  const key = randomBytes(32);
  const buckets = new Map<number, readonly Row[]>();

  function find(owner: string): { readonly index: number; readonly digest: string; readonly counting: readonly Row[] } {
    const digest = createHmac("sha256", key).update(owner).digest();
    const index = digest.readUInt32BE(0) % BUCKETS;
    const at = instant();
    const counting = (buckets.get(index) ?? []).filter(({ keptAt }) => elapsedMs(keptAt, at) < holdMs);
    return { index, digest: digest.toString("base64url"), counting };
  }

  return {
    take(owner) {
      const { index, digest, counting } = find(owner);
      const row = counting.find((one) => one.digest === digest);
      if (row !== undefined) {
        buckets.set(
          index,
          counting.filter((one) => one !== row),
        );
        return row.limits;
      }
      const limits = create();
      if (counting.length >= ROWS_PER_BUCKET) limits.firstSentAt = instant();
      return limits;
    },
    keep(owner, limits) {
      const { index, digest, counting } = find(owner);
      const others = counting.filter((one) => one.digest !== digest);
      if (others.length < ROWS_PER_BUCKET) buckets.set(index, [...others, { digest, limits, keptAt: instant() }]);
    },
  };
}
