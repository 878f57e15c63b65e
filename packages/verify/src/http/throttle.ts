import { elapsedMs } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";

export interface Throttle {
  /** Takes one permit. Returns 0, or the milliseconds until there is one. */
  take(): number;
  /** The milliseconds until there is a permit. */
  waitMs(): number;
}

/** Token bucket: `burst` permits at first, then one every `intervalMs`, measured by the faster clock. */
export function createThrottle(options: { burst: number; intervalMs: number; instant: () => Instant }): Throttle {
  const { burst, intervalMs, instant } = options;
  let permits = burst;
  let refilledAt = instant();

  function refill(now: Instant): void {
    if (permits >= burst || intervalMs === 0) {
      permits = burst;
      refilledAt = now;
      return;
    }
    const elapsed = elapsedMs(refilledAt, now);
    const gained = Math.floor(elapsed / intervalMs);
    if (gained < 1) return;
    permits = Math.min(burst, permits + gained);
    const rest = elapsed - gained * intervalMs;
    refilledAt = { monotonic: now.monotonic - rest, wall: now.wall - rest };
  }

  function waitMs(): number {
    const now = instant();
    refill(now);
    return permits > 0 ? 0 : intervalMs - elapsedMs(refilledAt, now);
  }

  return {
    take() {
      const wait = waitMs();
      if (wait === 0) permits -= 1;
      return wait;
    },
    waitMs,
  };
}
