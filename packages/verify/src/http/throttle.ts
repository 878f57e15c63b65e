export interface Throttle {
  /** Takes one permit: 0, or the milliseconds until there is one. */
  take(): number;
}

/** Token bucket on a monotonic clock: `burst` permits at first, one more every `intervalMs`. */
export function createThrottle(options: { burst: number; intervalMs: number; clock: () => number }): Throttle {
  const { burst, intervalMs, clock } = options;
  let permits = burst;
  let refilledAt = clock();

  function refill(): void {
    const now = clock();
    if (permits >= burst || intervalMs === 0) {
      permits = burst;
      refilledAt = now;
      return;
    }
    const gained = Math.floor((now - refilledAt) / intervalMs);
    permits = Math.min(burst, permits + gained);
    refilledAt += gained * intervalMs;
  }

  return {
    take() {
      refill();
      if (permits > 0) {
        permits -= 1;
        return 0;
      }
      return refilledAt + intervalMs - clock();
    },
  };
}
