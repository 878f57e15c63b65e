import fc from "fast-check";
import { expect, test } from "vitest";
import { InFlight, type InFlightItem } from "../../src/signer/in-flight.ts";

test("holds what came and has not gone, as a Set does", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9)), (turns) => {
      const items = Array.from({ length: 10 }, (): InFlightItem => ({ index: -1 }));
      const inFlight = new InFlight<InFlightItem>();
      const expected = new Set<InFlightItem>();
      for (const turn of turns) {
        const item = items[turn] ?? { index: -1 };
        if (expected.delete(item)) inFlight.delete(item);
        else {
          expected.add(item);
          inFlight.add(item);
        }
        expect(new Set(inFlight)).toEqual(expected);
        expect([...inFlight]).toHaveLength(expected.size);
      }
    }),
  );
});

test("says when nothing is in flight, to all who ask", async () => {
  const inFlight = new InFlight<InFlightItem>();
  await inFlight.none();
  const items = [{ index: -1 }, { index: -1 }];
  for (const item of items) inFlight.add(item);
  let told = 0;
  const waiting = [1, 2].map(() => inFlight.none().then(() => (told += 1)));
  for (const item of items) {
    await Promise.resolve();
    expect(told).toBe(0);
    inFlight.delete(item);
  }
  await Promise.all(waiting);
  expect(told).toBe(2);
});

test("forgets nothing twice", () => {
  const inFlight = new InFlight<InFlightItem>();
  const [first, second] = [{ index: -1 }, { index: -1 }];
  inFlight.add(first);
  inFlight.add(second);
  inFlight.delete(first);
  inFlight.delete(first);
  expect([...inFlight]).toEqual([second]);
});
