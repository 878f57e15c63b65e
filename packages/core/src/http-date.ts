const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const SHORT_DAYS = DAYS.map((day) => day.slice(0, 3));
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;
const [DAY, SHORT_DAY, MONTH] = [DAYS, SHORT_DAYS, MONTHS].map((names) => names.join("|"));

/** RFC 9110 section 5.6.7. Case does not matter (RFC 9111 section 4.2), and the only zone is GMT. */
const FORMS: readonly RegExp[] = [
  // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
  `(?<weekday>${SHORT_DAY}), (?<day>\\d\\d) (?<month>${MONTH}) (?<year>\\d{4}) ${TIME} GMT`,
  // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
  `(?<weekday>${DAY}), (?<day>\\d\\d)-(?<month>${MONTH})-(?<year>\\d\\d) ${TIME} GMT`,
  // asctime: Sun Nov  6 08:49:37 1994
  `(?<weekday>${SHORT_DAY}) (?<month>${MONTH}) (?<day>\\d\\d| \\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`, "i"));

const MAX_YEARS_AHEAD = 50;

/**
 * Parses an HTTP-date (RFC 9110 section 5.6.7). Returns milliseconds since 1970, or `undefined` for any other text. `now`
 * decides the century of a two-digit year: the last one that is at most 50 years ahead. `Date.parse` accepts many other
 * formats, and reads one of the three as local time.
 *
 * @example
 * ```ts
 * import { parseHttpDate } from "@signpost/core/adapter";
 *
 * export const dateOf = (headers: Headers) => parseHttpDate(headers.get("date") ?? "", Date.now());
 * ```
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  const parts = FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return undefined;
  const { weekday = "", day = "", month = "", year = "", hour = "", minute = "", second = "" } = parts;
  const [dayNumber, monthIndex] = [Number(day), indexIn(MONTHS, month)];
  const time = [Number(hour), Number(minute), Number(second)] as const;
  // A leap second is the first second of the next minute.
  if (time[0] > 23 || time[1] > 59 || time[2] > 60) return undefined;
  const at = (fullYear: number): Date => {
    const date = new Date(0);
    date.setUTCFullYear(fullYear, monthIndex, dayNumber);
    return date;
  };
  const midnight = at(year.length === 2 ? fullYear(Number(year), at, now) : Number(year));
  // Refuses a day after the end of the month, and the wrong day of the week.
  if (midnight.getUTCDate() !== dayNumber || midnight.getUTCDay() !== indexIn(SHORT_DAYS, weekday.slice(0, 3))) {
    return undefined;
  }
  return midnight.setUTCHours(...time);
}

function fullYear(twoDigits: number, at: (year: number) => Date, now: number): number {
  const latest = new Date(now);
  latest.setUTCFullYear(latest.getUTCFullYear() + MAX_YEARS_AHEAD);
  const year = Math.floor(latest.getUTCFullYear() / 100) * 100 + twoDigits;
  return at(year).getTime() > latest.getTime() ? year - 100 : year;
}

function indexIn(names: readonly string[], name: string): number {
  return names.findIndex((known) => known.toLowerCase() === name.toLowerCase());
}
