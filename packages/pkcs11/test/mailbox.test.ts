import { describe, expect, test } from "vitest";
import { after, AWAY, between, CELL, DEPTH, openMailbox, OUTCOME, slotOf } from "../src/wire/mailbox.ts";

describe("a mailbox", () => {
  test("begins with a thread that is away", () => {
    expect(openMailbox().cells[CELL.turn]).toBe(AWAY);
    // A turn is a count, which is never negative.
    expect(AWAY).toBeLessThan(0);
  });

  test("is as it was at its other end", () => {
    const one = openMailbox();
    one.cells[CELL.turn] = 6;
    const other = openMailbox(one.memory);
    expect(other.cells[CELL.turn]).toBe(6);
    slotOf(one, 2).digest.fill(7);
    expect(slotOf(other, 2).digest).toEqual(new Uint8Array(32).fill(7));
  });

  test("has a place of its own for each number and each byte", () => {
    const { memory, cells, slots } = openMailbox();
    const parts = [cells, ...slots.flatMap((slot) => [slot.cells, slot.digest, slot.signature])];
    let end = 0;
    for (const { byteOffset, byteLength } of parts) {
      expect(byteOffset).toBe(end);
      end = byteOffset + byteLength;
    }
    expect(end).toBe(memory.byteLength);
    expect(slots).toHaveLength(DEPTH);
    for (const { digest, signature } of slots) expect([digest.length, signature.length]).toEqual([32, 64]);
    for (const places of [CELL, OUTCOME]) expect(new Set(Object.values(places)).size).toBe(Object.keys(places).length);
  });

  test("uses its slots in turn", () => {
    const mailbox = openMailbox();
    for (let count = 0; count < 2 * DEPTH; count += 1) {
      expect(slotOf(mailbox, count)).toBe(mailbox.slots[count % DEPTH]);
    }
  });
});

describe("counts", () => {
  const LAST = 2 ** 29 - 1;
  test.each([
    [0, 1],
    [LAST - 1, LAST],
    [LAST, 0],
  ])("%i is followed by %i", (count, next) => {
    expect(after(count)).toBe(next);
    expect(between(count, next)).toBe(1);
  });

  test("lie as far apart as there are steps between them, also when they have started again", () => {
    expect([between(5, 5), between(5, 9), between(LAST - 1, 2)]).toEqual([0, 4, 4]);
  });

  test("fit into a cell twice, with one more", () => {
    expect(new Int32Array([2 * LAST + 1])[0]).toBe(2 * LAST + 1);
    // A slot follows from the count alone, so the counts must start again with the first one.
    expect((LAST + 1) % DEPTH).toBe(0);
  });
});
