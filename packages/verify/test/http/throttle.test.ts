import { describe, expect, it } from "vitest";
import { createThrottle } from "../../src/http/throttle.ts";

const now = { monotonic: 0, wall: 0 };
function advance(ms: number): void {
  now.monotonic += ms;
  now.wall += ms;
}

function throttle(burst: number, intervalMs: number): () => number {
  Object.assign(now, { monotonic: 1000, wall: 5_000_000 });
  const { take, waitMs } = createThrottle({ burst, intervalMs, instant: () => ({ ...now }) });
  return () => {
    const expected = waitMs();
    const waited = take();
    // Asking takes nothing.
    expect(waited).toBe(expected);
    return waited;
  };
}

describe("permits", () => {
  it("are there at first, and then come one by one", () => {
    const take = throttle(2, 1000);
    expect([take(), take(), take()]).toEqual([0, 0, 1000]);
    advance(999);
    expect(take()).toBe(1);
    advance(1);
    expect([take(), take()]).toEqual([0, 1000]);
  });

  it("are never more than the burst", () => {
    const take = throttle(2, 1000);
    expect([take(), take()]).toEqual([0, 0]);
    advance(60_000);
    expect([take(), take(), take()]).toEqual([0, 0, 1000]);
  });

  it("count from the first that was taken, if all were there", () => {
    const take = throttle(1, 1000);
    advance(700);
    expect([take(), take()]).toEqual([0, 1000]);
  });

  it("keep the time that is left over", () => {
    const take = throttle(3, 1000);
    expect([take(), take(), take()]).toEqual([0, 0, 0]);
    advance(2300);
    expect([take(), take(), take()]).toEqual([0, 0, 700]);
  });

  it("come by the faster clock", () => {
    const take = throttle(1, 1000);
    expect(take()).toBe(0);
    now.wall += 1000;
    expect([take(), take()]).toEqual([0, 1000]);
    now.monotonic += 1000;
    now.wall -= 50_000;
    expect(take()).toBe(0);
  });

  it("are without end if there is no interval", () => {
    const take = throttle(1, 0);
    for (let count = 0; count < 10; count += 1) expect(take()).toBe(0);
  });
});
