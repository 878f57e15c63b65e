import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createJwksEndpoint } from "@signpost/core";
import { GOLDEN_ETAG, goldenSet } from "../support/key-fixtures.ts";

const options = { issuer: "https://op.example", keys: goldenSet() };
const strict = createJwksEndpoint(options);
const lenient = createJwksEndpoint({ ...options, weakIfNoneMatch: "match" });

const E = GOLDEN_ETAG;
const hex = E.slice(1, -1);

describe("If-None-Match", () => {
  /** The status by default, and with `weakIfNoneMatch: "match"`. */
  const rows: readonly (readonly [what: string, value: string | null | undefined, ignore: number, match: number])[] = [
    ["absent", undefined, 200, 200],
    ["null", null, 200, 200],
    ["empty", "", 200, 200],
    ["white space alone", " \t ", 200, 200],
    ["the current entity tag", E, 304, 304],
    ["in white space", ` \t${E}\t `, 304, 304],
    ["another entity tag", '"abc"', 200, 200],
    ["another key set's tag of the same length", `"${hex.replace("9", "8")}"`, 200, 200],
    ["in upper case", E.toUpperCase(), 200, 200],
    ["the tag without quotes", hex, 200, 200],
    ["the tag in single quotes", `'${hex}'`, 200, 200],
    ["the tag with one quote", `"${hex}`, 200, 200],
    ["a prefix of the tag", `${E.slice(0, 20)}"`, 200, 200],
    ["the tag with a suffix", `"${hex}-gzip"`, 200, 200],
    ["white space inside the quotes", `" ${hex}"`, 200, 200],
    ["a no-break space around", `\u00a0${E}`, 200, 200],

    ["the wildcard", "*", 304, 304],
    ["the wildcard in white space", " * ", 304, 304],
    ["the wildcard in quotes", '"*"', 200, 200],
    ["two wildcards", "*, *", 200, 200],
    ["the wildcard before another tag", '*, "x"', 200, 200],
    ["the wildcard after another tag", '"x", *', 200, 200],
    ["the wildcard with the tag", `*, ${E}`, 304, 304],
    ["the wildcard with a comma", "*,", 200, 200],

    ["a list that ends with the tag", `"a", "b", ${E}`, 304, 304],
    ["a list that begins with the tag", `${E}, "b"`, 304, 304],
    ["a list without white space", `"a",${E},"b"`, 304, 304],
    ["a list with empty members", `,, ,\t${E} ,,`, 304, 304],
    ["a list without the tag", '"a", "b"', 200, 200],
    ["a list of commas", ",,,", 200, 200],
    ["a comma inside another tag", `"a,b", ${E}`, 304, 304],
    ["the tag inside another tag's quotes", `"x,${hex},y"`, 200, 200],
    ["an unclosed quote before the tag, which takes the comma into its quotes", `"x, ${E}`, 200, 200],
    ["an unclosed quote after the tag", `${E}, "x`, 304, 304],
    ["a backslash, which escapes nothing", `"a\\", ${E}`, 304, 304],
    ["members without a comma between them", `"a" ${E}`, 200, 200],

    ["an unquoted member before the tag", `abc, ${E}`, 304, 304],
    ["an unquoted member after the tag", `${E}, abc`, 304, 304],
    ["a member with a space before the tag", `a b, ${E}`, 304, 304],
    ["a lone W/ before the tag", `W/, ${E}`, 304, 304],
    ["a token before the tag", `W, ${E}`, 304, 304],

    ["weak", `W/${E}`, 200, 304],
    ["weak in a list", `"a", W/${E}, "b"`, 200, 304],
    ["weak and strong", `W/${E}, ${E}`, 304, 304],
    ["weak of another tag", 'W/"abc"', 200, 200],
    ["another tag, weak, with the tag", `W/"abc", ${E}`, 304, 304],
    ["weak in lower case", `w/${E}`, 200, 200],
    ["a weak tag in lower case with the tag", `w/"a", ${E}`, 304, 304],
    ["weak with a space", `W/ ${E}`, 200, 200],
    ["weak twice", `W/W/${E}`, 200, 200],
    ["weak inside the quotes", `"W/${hex}"`, 200, 200],
    ["a weak wildcard", "W/*", 200, 200],
  ];

  test.for(rows)("%s", ([, value, ignore, match]) => {
    for (const method of ["GET", "HEAD"]) {
      expect(strict.respond(method, value).status).toBe(ignore);
      expect(lenient.respond(method, value).status).toBe(match);
    }
  });

  test("finds the tag at any place among any other entity tags", () => {
    const etagc = fc.constantFrom("a", "!", "#", ",", "\\", "*", "W/", "é");
    const opaque = fc.string({ unit: etagc, maxLength: 8 }).map((text) => `"${text}"`);
    const member = fc.tuple(fc.constantFrom("", "W/"), opaque).map((parts) => parts.join(""));
    const comma = fc.constantFrom(",", ", ", " ,\t", ",,", ", ,");
    fc.assert(
      fc.property(fc.array(member), fc.array(member), comma, (before, after, separator) => {
        expect(strict.respond("GET", [...before, E, ...after].join(separator)).status).toBe(304);
        expect(strict.respond("GET", [...before, ...after].join(separator)).status).toBe(200);
      }),
    );
  });

  test("of a megabyte is read in one pass", () => {
    for (const piece of ['"', "W/", ",", " ", '"a",', '" ,']) {
      expect([200, 304]).toContain(strict.respond("GET", piece.repeat(1_000_000)).status);
    }
  });
});
