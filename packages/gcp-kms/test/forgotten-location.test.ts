import { expect, test } from "vitest";
import { forgetLocation, NO_REDIRECT } from "../src/redirects.ts";

const HEADERS = ["Host", "a", "Location", "/next", "location", "/more", "x", "location", "LOCATION", "Location"];

test.each([
  [299, false],
  [300, true],
  [307, true],
  [399, true],
  [400, false],
  ["307", false],
  [undefined, false],
])("an answer with the status %j does not say where it leads to: %s", (statusCode, isForgotten) => {
  const rawHeaders = [...HEADERS];
  forgetLocation({ statusCode, rawHeaders });
  const forgotten = "x-location-not-followed";
  expect(rawHeaders).toEqual(
    isForgotten
      ? ["Host", "a", forgotten, "/next", forgotten, "/more", "x", "location", forgotten, "Location"]
      : HEADERS,
  );
});

test("something else than an answer is left alone", () => {
  for (const response of [undefined, null, {}, { statusCode: 307 }, { statusCode: 307, rawHeaders: "Location" }]) {
    expect(() => forgetLocation(response)).not.toThrow();
  }
});

test("node-fetch is told to follow nothing", () => {
  expect(NO_REDIRECT).toEqual({ redirect: "manual" });
});
