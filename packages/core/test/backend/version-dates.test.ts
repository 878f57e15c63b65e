import { expect, test } from "vitest";
import { versionDates } from "@signpost/core/adapter";

const CREATED = new Date("2026-03-01T08:00:00.000Z");

test("the first version is active at once", () => {
  const dates = versionDates(CREATED, true, { pickUpMinutes: 15, announceHours: 4 });
  expect(dates).toEqual({ announcedFrom: CREATED, activeFrom: CREATED });
});

test.each([
  [15, 4, "2026-03-01T08:15:00.000Z", "2026-03-01T12:16:00.000Z"],
  [0, 2, "2026-03-01T08:00:00.000Z", "2026-03-01T10:01:00.000Z"],
  [0.5, 2.5, "2026-03-01T08:00:30.000Z", "2026-03-01T10:31:30.000Z"],
  // A part of a millisecond counts as a whole one.
  [1 / 7, 2 + 1e-9, "2026-03-01T08:00:08.572Z", "2026-03-01T10:01:08.573Z"],
])("a later one is announced %d minutes after it was made, and signs %d hours and a minute after that", (...row) => {
  const [pickUpMinutes, announceHours, announcedFrom, activeFrom] = row;
  expect(versionDates(CREATED, false, { pickUpMinutes, announceHours })).toEqual({
    announcedFrom: new Date(announcedFrom),
    activeFrom: new Date(activeFrom),
  });
});
