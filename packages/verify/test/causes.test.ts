import { describe, expect, it } from "vitest";
import { causesOf, reasonOf } from "../src/causes.ts";

const error = (name: string, more: object = {}): Error => Object.assign(new Error(name), { name }, more);

/** So many errors, of which the innermost has the code. */
const chain = (length: number): Error =>
  Array.from({ length: length - 1 }).reduce<Error>(
    (cause) => Object.assign(new Error("fetch failed"), { cause }),
    error("Innermost", { code: "ECONNREFUSED" }),
  );

describe("the reason of a failure", () => {
  it.each([
    [1, "ECONNREFUSED"],
    [8, "ECONNREFUSED"],
    [9, undefined],
  ])("is the code of the innermost of %d errors: %s", (length, reason) => {
    expect(reasonOf(chain(length))).toBe(reason);
  });

  it.each([
    [
      "of several errors, that of the first",
      { errors: [error("E", { code: "FIRST" }), error("E", { code: "SECOND" })] },
      "FIRST",
    ],
    ["without a code, the innermost name that tells something", { cause: error("HTTPParserError") }, "HTTPParserError"],
    ["none of the names that every error has", { cause: error("TypeError") }, undefined],
    ["no code that may be a text of the server", { cause: error("Error", { code: "two words" }) }, undefined],
    ["no code that is longer than 64 characters", { cause: error("Error", { code: "E".repeat(65) }) }, undefined],
    [
      "a code of TLS with a slash, as OpenSSL 3.2 makes it",
      { cause: error("Error", { code: "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE" }) },
      "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE",
    ],
    ["no other code with a slash", { cause: error("Error", { code: "etc/secret" }) }, undefined],
    ["a code of 64 characters", { cause: error("Error", { code: "E".repeat(64) }) }, "E".repeat(64)],
    ["the one message that tells more than its name", { cause: new Error("bad port") }, "bad port"],
    [
      "the status of a proxy",
      { cause: new Error("Proxy response (407) !== 200 when HTTP Tunneling") },
      "the proxy answered with status 407",
    ],
    [
      "the advice for the handlers of another undici",
      { cause: error("Error", { message: "invalid onRequestStart method", code: "UND_ERR_INVALID_ARG" }) },
      "the dispatcher is not of undici 7; pass a fetch that uses it, from the same undici",
    ],
    ...["an invalid onRequestStart method", "invalid onRequestStart methods", "invalid on method"].map(
      (message): [string, object, string] => [
        `the code of ${message}`,
        { cause: error("Error", { message, code: "UND_ERR_INVALID_ARG" }) },
        "UND_ERR_INVALID_ARG",
      ],
    ),
    ...["A Proxy response (407) !== 200", "Proxy response (4070) !== 200", "Proxy response (407)"].map(
      (message): [string, object, string] => [
        `the code of ${message}`,
        { cause: error("Error", { message, code: "UND_ERR_ABORTED" }) },
        "UND_ERR_ABORTED",
      ],
    ),
    ["no code with other characters", { cause: error("Error", { code: "-E" }) }, undefined],
    ["no code that ends in others", { cause: error("Error", { code: "E-" }) }, undefined],
    ["no code that is empty, or a number", { code: "", cause: error("Error", { code: 7 }) }, undefined],
    ["the innermost of several codes", { code: "OUTER", cause: error("Error", { code: "INNER" }) }, "INNER"],
    ["the innermost of several names", { name: "OuterError", cause: error("InnerError") }, "InnerError"],
    ["the code, though a name is further inside", { code: "OUTER", cause: error("InnerError") }, "OUTER"],
    ["the cause's, and not that of one of several", { cause: error("A"), errors: [error("B")] }, "A"],
    ["none where there are no errors", { errors: [] }, undefined],
    ["none where errors are no list", { errors: { 0: error("A") } }, undefined],
  ])("is %s", (_what, more, reason) => {
    expect(reasonOf(Object.assign(new Error("fetch failed"), more))).toBe(reason);
  });

  it.each([undefined, null, "text", 7])("is none for %j", (thrown) => {
    expect([...causesOf(thrown)]).toEqual([]);
    expect(reasonOf(thrown)).toBeUndefined();
  });
});
