import { expect, it } from "vitest";
import { isMediaType, mediaTypeOf, printableType } from "../../src/http/media-type.ts";

it.each(["a/b", "application/jwk-set+json", "x1/y.z_!#$&^-+", "0/0"])("%s is a media type", (text) => {
  expect(isMediaType(text)).toBe(true);
});

it.each(["", "a", "/", "a/", "/b", "a/b/c", "A/b", "a/B", "+a/b", "a/+b", "a b/c", "a/b;c=d", " a/b", "a/b\n"])(
  "%j is none",
  (text) => {
    expect(isMediaType(text)).toBe(false);
  },
);

it.each([
  ["application/json", "application/json"],
  ["Application/JSON; charset=utf-8", "application/json"],
  ["application/json ;a=b;c=d", "application/json"],
  ["\tapplication/json ", "application/json"],
  ["application/json, application/json", "application/json"],
  ["", ""],
  [undefined, ""],
])("of %j it is %j", (contentType, expected) => {
  expect(mediaTypeOf(contentType)).toBe(expected);
});

it.each([
  ["", "no content type"],
  ["text/html", "text/html"],
  [`a/${"b".repeat(62)}`, `a/${"b".repeat(62)}`],
  [`a/${"b".repeat(63)}`, "an invalid content type"],
  ["secret", "an invalid content type"],
])("a message shows %j as %j", (mediaType, expected) => {
  expect(printableType(mediaType)).toBe(expected);
});
