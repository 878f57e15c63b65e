import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CELL, DEPTH, type Mailbox, openMailbox, OUTCOME, SLOT, slotOf } from "../src/wire/mailbox.ts";
import { Inbox } from "../src/worker/inbox.ts";

const SIGNATURE = new Uint8Array(64).fill(9);

/** Digests in a mailbox. */
function handedOver(count: number): Mailbox {
  const mailbox = openMailbox();
  for (let place = 0; place < count; place += 1) {
    const { cells, digest } = slotOf(mailbox, place);
    cells[SLOT.id] = 100 + place;
    digest.fill(place);
    cells[SLOT.outcome] = OUTCOME.pending;
  }
  return mailbox;
}

/** Serves what its caller hands over when it waits first. What was settled each time when the caller was told. */
function serve(mailbox: Mailbox, count: number, sign: (digest: Uint8Array) => Uint8Array): number[] {
  const { cells } = mailbox;
  const told: number[] = [];
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(Atomics, "wait").mockImplementation(() => {
    // And calls the thread away.
    Atomics.store(cells, CELL.turn, 2 * count + 1);
    return "ok";
  });
  vi.spyOn(Atomics, "notify").mockImplementation(() => told.push(cells[CELL.settled] ?? -1));
  new Inbox(mailbox, { sign: (_key, digest) => sign(digest), failed: () => {} }).serve(0);
  return told;
}

describe("a thread that signs what is in its mailbox", () => {
  test.each([
    [1, [1]],
    [2, [2]],
    [3, [2, 3]],
    [4, [2, 4]],
  ])("of %i digests tells of half the mailbox at once, and of the last one before it waits", (count, expected) => {
    const mailbox = handedOver(count);
    expect(serve(mailbox, count, () => SIGNATURE)).toEqual(expected);
    for (let place = 0; place < count; place += 1) {
      const { cells, signature } = slotOf(mailbox, place);
      expect([cells[SLOT.outcome], [...signature]]).toEqual([OUTCOME.signed, [...SIGNATURE]]);
    }
  });

  test("tells at once of a failure, and of those behind it", () => {
    const mailbox = handedOver(DEPTH);
    const told = serve(mailbox, DEPTH, (digest) => {
      if (digest[0] === 1) throw new Error("CKR");
      return SIGNATURE;
    });
    expect(told.at(-1)).toBe(DEPTH);
    expect(mailbox.slots.map(({ cells }) => cells[SLOT.outcome])).toEqual([
      OUTCOME.signed,
      OUTCOME.failed,
      OUTCOME.skipped,
      OUTCOME.skipped,
    ]);
  });
});
