import fc from "fast-check";
import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { phaseAt } from "@signpost/core/adapter";
import { standIn } from "../../src/config/config-keys.ts";
import { inspectRotation, isCachedShortly, type Rotation } from "../../src/rotate/inspect.ts";
import { drawRotation } from "../../src/rotate/timeline/draw.ts";
import { eventFinder } from "../../src/rotate/timeline/events.ts";
import { distance, instantText } from "../../src/rotate/timeline/instants.ts";
import { phaseOf } from "../../src/rotate/timeline/phase.ts";
import { columnOf, createScale, fitChanges } from "../../src/rotate/timeline/scale.ts";
import { ENTRIES } from "./support.ts";

const HOUR = 3_600_000;
const START = Date.parse("2026-01-01T00:00:00Z");
const colors = createColors(false);
/** Made once, since making keys takes most of the time. */
const SIGNERS = Array.from({ length: 30 }, standIn);

function rotationOf(entries: readonly object[], now: number = START): Rotation {
  const schedule = { entries, maxTokenLifetimeSeconds: 3600 } as Parameters<typeof inspectRotation>[0];
  return inspectRotation(schedule, { path: "keys", now, signerOf: (index) => SIGNERS[index] });
}

/** Rotations, each some hours after the one before. */
function chain(hours: readonly number[]): Rotation {
  let active = START;
  const entries = hours.map((length, index) => {
    active += index === 0 ? 0 : length * HOUR;
    const announcedFrom = instantText(index === 0 ? active : active - 5 * HOUR);
    return { keyId: `key-${index}`, signer: "local:a.pem", announcedFrom, activeFrom: instantText(active) };
  });
  return rotationOf(entries);
}

test("no line is wider than the terminal, whatever the schedule, the time and the names of keys", () => {
  const lengths = fc.array(fc.integer({ min: 6, max: 20_000 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(
      lengths,
      fc.integer({ min: -100, max: 600_000 }),
      fc.integer({ min: 60, max: 120 }),
      (list, at, width) => {
        const { lines, shown } = drawRotation(chain(list), START + at * HOUR, { width, colors });
        expect(lines.filter((line) => line.length > width)).toEqual([]);
        expect(shown.changes.length).toBeLessThanOrEqual(Math.floor(width / 7));
      },
    ),
    { numRuns: 200 },
  );
});

test("the axis has its parts in order, without a gap, and a time is in its own part", () => {
  const gaps = fc.array(fc.integer({ min: 1, max: 10_000_000_000 }), { minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: 66, max: 120 }), (list, width) => {
      const changes = list.map((_, index) => list.slice(0, index + 1).reduce((sum, gap) => sum + gap, 0));
      const scale = createScale(changes, width);
      let column = 0;
      for (const segment of scale) {
        expect(segment.column).toBe(column);
        column += segment.width;
        const inside = columnOf(scale, segment.sample);
        expect(inside).toBeGreaterThanOrEqual(segment.column);
        expect(inside).toBeLessThan(column);
      }
      expect(column).toBe(width);
    }),
  );
});

test("the changes that are shown are around the time, and the others are counted", () => {
  const changes = Array.from({ length: 30 }, (_, index) => index);
  expect(fitChanges(changes, 14.5, 73)).toEqual({
    changes: [13, 14, 15, 16, 17, 18, 19, 20, 21, 22],
    earlier: 13,
    later: 7,
  });
  expect(fitChanges(changes, 29, 73)).toEqual({ changes: changes.slice(20), earlier: 20, later: 0 });
  expect(fitChanges([1, 2], 5, 73)).toEqual({ changes: [1, 2], earlier: 0, later: 0 });
  expect(fitChanges([], 5, 73)).toEqual({ changes: [], earlier: 0, later: 0 });
});

test("a bar has the phases of its key in order, and a long name is shortened", () => {
  const entries = ENTRIES.map((entry, index) => ({ ...entry, keyId: `${index}-${"x".repeat(60)}` }));
  const { lines } = drawRotation(rotationOf(entries, Date.parse("2026-07-01T09:00:00Z")), START, { width: 80, colors });
  const bars = lines.filter((line) => /^\d-x/.test(line));
  expect(bars).toEqual([expect.stringMatching(/^0-x{21}… {5}█+▒+·+$/), expect.stringMatching(/^1-x{21}… +░+█+▶$/)]);
});

test("a key that took the place of another is drawn from when it was published", () => {
  const replaced = {
    keyId: "spare",
    signer: "local:b.pem",
    announcedFrom: "2026-03-01T00:00:00Z",
    activeFrom: "2026-02-01T00:00:00Z",
    emergencyAt: "2026-03-01T00:00:00Z",
  };
  const [first] = ENTRIES;
  const now = Date.parse("2026-03-01T01:00:00Z");
  const rotation = rotationOf([{ ...first }, replaced], now);
  expect(rotation.mistakes).toEqual([]);
  const spare = rotation.keys[1];
  expect(spare && phaseAt(spare, Date.parse("2026-02-15T00:00:00Z"))).toBe("active");
  const { lines } = drawRotation(rotation, now, { width: 80, colors });
  expect(lines.find((line) => line.startsWith("spare"))).toMatch(/^spare +█+▶$/);
  expect(eventFinder(rotation)(Date.parse("2026-03-01T00:00:00Z")).words).toBe("spare signs, cached for 5 min");
});

test.each([
  [0, "now"],
  [30_000, "in 30 s"],
  [-90 * 60_000, "1 h 30 min ago"],
])("a time that is %d ms away is %s", (away, words) => {
  expect(distance(START + away, START)).toBe(words);
});

test("each change has the words of the keys whose phase begins then, also after an emergency", () => {
  const lengths = fc.array(fc.integer({ min: 6, max: 40 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(lengths, fc.boolean(), (list, isReplaced) => {
      const { keys, ...rest } = chain(list);
      const [first, ...later] = keys;
      const emergencyAt = START + 2 * HOUR;
      const replaced = first && { ...first, announcedFrom: emergencyAt, emergencyAt };
      const rotation = { ...rest, keys: isReplaced && replaced ? [replaced, ...later] : keys };
      const eventAt = eventFinder(rotation);
      for (const time of rotation.changes) {
        const { words } = eventAt(time);
        for (const key of rotation.keys) {
          const begins = phaseOf(key, time) !== phaseOf(key, time - 1);
          expect(new RegExp(String.raw`\b${key.label} `).test(words)).toBe(begins);
        }
        expect(words.includes("cached for")).toBe(
          isCachedShortly(rotation, time) !== isCachedShortly(rotation, time - 1),
        );
      }
    }),
  );
});
