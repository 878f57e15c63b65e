import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PinMemory } from "../src/sharing/pin-memory.ts";

const TOKEN = { label: "op", serial: "1" };
const OTHER = { label: "op", serial: "2" };

describe("a memory of PINs", () => {
  test("is empty until a token has said something, and after everything was forgotten", () => {
    for (const learn of [
      (memory: PinMemory) => memory.refuse(TOKEN, "1"),
      (memory: PinMemory) => memory.lose(TOKEN, "1"),
      (memory: PinMemory) => (memory.lose(TOKEN, "1"), memory.lose(TOKEN, "1")),
      (memory: PinMemory) => (memory.refuse(TOKEN, "1"), memory.accept(TOKEN, "2"), memory.disprove(TOKEN, "2")),
    ]) {
      const memory = new PinMemory();
      expect(memory.isEmpty).toBe(true);
      learn(memory);
      expect(memory.isEmpty).toBe(false);
      memory.forgetRefusals();
      expect([memory.isEmpty, memory.forgotten]).toEqual([true, 1]);
    }
  });

  test("keeps the accepted PIN when it forgets refusals", () => {
    const memory = new PinMemory();
    memory.accept(TOKEN, "1");
    memory.forgetRefusals();
    expect([memory.isEmpty, memory.isAccepted(TOKEN, "1"), memory.isAccepted(TOKEN, "2")]).toEqual([
      false,
      true,
      false,
    ]);
    expect(memory.isAccepted(OTHER, "1")).toBeUndefined();
  });

  test("says at its other end that its thread has ended", () => {
    const memory = new PinMemory();
    const elsewhere = new PinMemory(memory.shared);
    expect([memory.ended, elsewhere.ended]).toEqual([false, false]);
    memory.end();
    expect([memory.ended, elsewhere.ended]).toEqual([true, true]);
    // Nothing else follows from that.
    expect([elsewhere.isEmpty, elsewhere.forgotten]).toEqual([true, 0]);
  });

  test("that was made first comes first", () => {
    const clock = vi.spyOn(process.hrtime, "bigint");
    onTestFinished(() => clock.mockRestore());
    const madeAt = (at: bigint): PinMemory => {
      clock.mockReturnValue(at);
      return new PinMemory();
    };
    const memories = [9n, 10n, 2n ** 62n].map(madeAt);
    const orders = memories.map(({ order }) => order);
    expect(orders.toSorted()).toEqual(orders);
    expect(new PinMemory(memories[1]?.shared).order).toBe(orders[1]);
    // Two that were made at the same time differ too.
    expect(madeAt(9n).order).not.toBe(orders[0]);
  });

  test("counts refusals and losses of one token, since it last accepted a PIN", () => {
    const memory = new PinMemory();
    memory.refuse(TOKEN, "1");
    memory.refuse(TOKEN, "1");
    memory.refuse(TOKEN, "2");
    memory.lose(TOKEN, "3");
    memory.lose(TOKEN, "4");
    memory.lose(TOKEN, "4");
    memory.refuse(OTHER, "1");
    expect([memory.refusals(TOKEN), memory.losses(TOKEN), memory.refusals(OTHER), memory.losses(OTHER)]).toEqual([
      2, 3, 1, 0,
    ]);
    expect([memory.losses(TOKEN, "3"), memory.losses(TOKEN, "4"), memory.losses(TOKEN, "1")]).toEqual([1, 2, 0]);
    memory.regain(TOKEN, "4");
    expect(memory.losses(TOKEN, "4")).toBe(1);
    memory.regain(TOKEN, "4");
    expect(memory.losses(TOKEN, "4")).toBe(0);
    memory.accept(TOKEN, "2");
    expect([memory.refusals(TOKEN), memory.losses(TOKEN), memory.refusals(OTHER)]).toEqual([0, 0, 1]);
    // A PIN that was refused before is still a wrong one, unless it is the one that was accepted now.
    expect([memory.isRefused(TOKEN, "1"), memory.isRefused(TOKEN, "2")]).toEqual([true, false]);
  });

  test("recognizes its own tags alone", () => {
    const memory = new PinMemory();
    const tag = memory.tag(TOKEN, "1");
    expect([
      memory.isTagOf(TOKEN, tag),
      memory.isTagOf(TOKEN, tag, "1"),
      memory.isTagOf(TOKEN, tag, "2"),
      memory.isTagOf(OTHER, tag),
      memory.isTagOf(TOKEN, tag.subarray(0, 15)),
      memory.isTagOf(TOKEN, tag.subarray(0, 16)),
      memory.isTagOf(TOKEN, tag.subarray(0, 16), "1"),
    ]).toEqual([true, true, false, false, false, true, false]);
  });
});

describe("a token's turn", () => {
  test("is taken once, given back, and over after 15 s by the monotonic clock", () => {
    const clock = vi.spyOn(process.hrtime, "bigint").mockReturnValue(5_000_000_000n);
    onTestFinished(() => clock.mockRestore());
    const memory = new PinMemory();
    const giveBack = memory.tryLock(TOKEN);
    expect(giveBack).toBeTypeOf("function");
    expect(memory.tryLock(TOKEN)).toBeUndefined();
    giveBack?.();
    expect(memory.tryLock(TOKEN)).toBeTypeOf("function");
    clock.mockReturnValue(19_999_000_000n);
    expect(memory.tryLock(TOKEN)).toBeUndefined();
    clock.mockReturnValue(20_000_000_000n);
    const next = memory.tryLock(TOKEN);
    expect(next).toBeTypeOf("function");
    // The one whose turn is over takes none away.
    giveBack?.();
    expect(memory.tryLock(TOKEN)).toBeUndefined();
    next?.();
    expect(memory.tryLock(TOKEN)).toBeTypeOf("function");
  });
});
