import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseHttpDate } from "@signpost/core/adapter";

// RFC 9110 section 5.6.7.

const now = Date.parse("2026-11-28T12:00:00Z");

describe("an HTTP-date", () => {
  it.each([
    ["IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"],
    ["RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"],
    ["asctime", "Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"],
    ["asctime with a day of two digits", "Thu Aug 18 02:01:18 2050", "2050-08-18T02:01:18Z"],
    // RFC 9111 section 4.2.
    ["in lower case", "sun, 06 nov 1994 08:49:37 gmt", "1994-11-06T08:49:37Z"],
    ["in upper case", "THU, 18 AUG 2050 02:01:18 GMT", "2050-08-18T02:01:18Z"],
    ["a leap second", "Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00Z"],
    ["the leap day", "Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00Z"],
    ["a year before 100", "Mon, 01 Jan 0001 00:00:00 GMT", "0001-01-01T00:00:00Z"],
  ])("is read: %s", (_name, text, iso) => {
    expect(parseHttpDate(text, now)).toBe(Date.parse(iso));
  });

  it.each([
    ["2026-11-28T12:00:00Z", "Thursday, 18-Aug-50 02:01:18 GMT", "2050-08-18T02:01:18Z"],
    ["2026-11-28T12:00:00Z", "Saturday, 28-Nov-76 12:00:00 GMT", "2076-11-28T12:00:00Z"],
    ["2026-11-28T12:00:00Z", "Monday, 29-Nov-76 12:00:00 GMT", "1976-11-29T12:00:00Z"],
    ["2026-11-28T12:00:00Z", "Monday, 28-Nov-77 12:00:00 GMT", "1977-11-28T12:00:00Z"],
    ["2099-12-31T12:00:00Z", "Friday, 01-Jan-00 00:00:00 GMT", "2100-01-01T00:00:00Z"],
    ["2099-12-31T12:00:00Z", "Thursday, 31-Dec-99 00:00:00 GMT", "2099-12-31T00:00:00Z"],
  ])("of two digits for the year is at most 50 years ahead of %s: %s", (at, text, iso) => {
    expect(parseHttpDate(text, Date.parse(at))).toBe(Date.parse(iso));
  });

  it.each([
    ["another zone", "Thu, 18 Aug 2050 02:01:18 UTC"],
    ["an offset", "Thu, 18 Aug 2050 02:01:18 +0000"],
    ["a local zone", "Thu, 18 Aug 2050 02:01:18 AEST"],
    ["no zone", "Thu, 18 Aug 2050 02:01:18"],
    ["no comma", "Thu 18 Aug 2050 02:01:18 GMT"],
    ["dashes", "Thu, 18-Aug-2050 02:01:18 GMT"],
    ["points in the time", "Thu, 18 Aug 2050 02.01.18 GMT"],
    ["an hour of one digit", "Thu, 18 Aug 2050 2:01:18 GMT"],
    ["a day of one digit", "Mon, 1 Aug 2050 02:01:18 GMT"],
    ["two spaces", "Thu, 18  Aug  2050 02:01:18 GMT"],
    ["a space in front", " Thu, 18 Aug 2050 02:01:18 GMT"],
    ["a line feed behind", "Thu, 18 Aug 2050 02:01:18 GMT\n"],
    ["another day of the week", "Fri, 18 Aug 2050 02:01:18 GMT"],
    ["a long day of the week", "Thursday, 18 Aug 2050 02:01:18 GMT"],
    ["a short day of the week before dashes", "Thu, 18-Aug-50 02:01:18 GMT"],
    ["no day of the week", "18 Aug 2050 02:01:18 GMT"],
    ["a day that does not exist", "Wed, 31 Nov 2050 02:01:18 GMT"],
    ["no leap year", "Wed, 29 Feb 2023 00:00:00 GMT"],
    ["day 0", "Wed, 00 Aug 2050 02:01:18 GMT"],
    ["hour 24", "Thu, 18 Aug 2050 24:00:00 GMT"],
    ["minute 60", "Thu, 18 Aug 2050 02:60:00 GMT"],
    ["second 61", "Thu, 18 Aug 2050 02:01:61 GMT"],
    ["a year of three digits", "Thu, 18 Aug 205 02:01:18 GMT"],
    ["ISO 8601", "2050-08-18T02:01:18Z"],
    ["digits", "0"],
    ["minus one", "-1"],
    ["nothing", ""],
    ["asctime with a zone", "Thu Aug 18 02:01:18 2050 GMT"],
    ["asctime with one space before a digit", "Sun Nov 6 08:49:37 1994"],
    ["two of them", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT"],
  ])("is refused: %s", (_name, text) => {
    expect(parseHttpDate(text, now)).toBeUndefined();
  });

  it("is read as it was written, in each of the three forms", () => {
    const seconds = fc.integer({ min: Date.parse("1977-01-01") / 1000, max: Date.parse("2076-01-01") / 1000 });
    fc.assert(
      fc.property(seconds, (second) => {
        const date = new Date(second * 1000);
        const fixdate = date.toUTCString();
        const [, day = "", month = "", year = "", time = ""] = fixdate.split(" ");
        const weekday = date.toLocaleDateString("en-US", { weekday: "long", timeZone: "UTC" });
        const rfc850 = `${weekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`;
        const asctime = `${weekday.slice(0, 3)} ${month} ${day.replace(/^0/, " ")} ${time} ${year}`;
        for (const text of [fixdate, rfc850, asctime]) expect(parseHttpDate(text, now)).toBe(date.getTime());
      }),
    );
  });
});

it("of each day of a leap year is read in its three forms", () => {
  const LONG = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  for (let time = Date.parse("2024-01-01T10:20:30Z"); time < Date.parse("2025-01-01"); time += 86_400_000) {
    const fixed = new Date(time).toUTCString();
    const [, day = "", month = ""] = /^\w{3}, (\d\d) (\w{3}) /.exec(fixed) ?? [];
    const weekday = LONG[new Date(time).getUTCDay()] ?? "";
    const forms = [
      fixed,
      `${weekday}, ${day}-${month}-24 10:20:30 GMT`,
      `${weekday.slice(0, 3)} ${month} ${day.replace(/^0/, " ")} 10:20:30 2024`,
    ];
    for (const form of forms) expect([form, parseHttpDate(form, now)]).toEqual([form, time]);
  }
});
