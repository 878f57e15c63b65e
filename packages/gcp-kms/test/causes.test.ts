import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { credentialsError } from "../src/credential-errors.ts";
import { signerErrorFrom } from "../src/errors.ts";

const SUBJECT = { action: "sign with", name: "v" };
const PLUGIN = "14 UNAVAILABLE: Getting metadata from plugin failed with error: ";

/** What JSON.parse says of a text. */
function parseFailure(text: string): Error {
  try {
    JSON.parse(text);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("expected a text that is no JSON");
}

const ofSdk = `Unable to read the credential file specified by the environment variable: ${parseFailure("SECRET").message}`;

const told: readonly [string, Error][] = [
  ["a file that is no JSON", parseFailure("SECRET")],
  ["a file that is cut off", parseFailure('{"private_key":"SECRET')],
  ["a value that is no JSON", parseFailure('{"private_key":SECRET}')],
  ["a file that is no JSON, in the words of the SDK", new Error(ofSdk)],
  ["a request that is repeated", new Error("Error code invalid_grant: bad grant_type=x&subject_token=SECRET")],
  ["a description that is repeated", new Error("Error code invalid_request: SECRET - https://a.example")],
  ["a signed assertion", new Error("invalid_grant: assertion=SECRET")],
  ["an address with a query", new Error("request to http://127.0.0.1:9/t?key=SECRET failed, reason: none")],
  ["what an executable wrote", new Error("The executable returned an invalid response: SECRET")],
  [
    "what an executable wrote when it failed",
    new Error("The executable failed with exit code: 1 and error message: SECRET."),
  ],
  ["a token that is no header", new TypeError('Headers.append: "Bearer SECRET\n" is an invalid header value.')],
  ["an answer that is a text", new TypeError("Cannot create property 'res' on string 'SECRET'")],
  ["an address with a password", new Error("request to http://me:SECRET@127.0.0.1:9/t failed")],
];

describe("what a source of credentials tells stays out of the error:", () => {
  test.each(told)("%s", (_what, thrown) => {
    const wrapped = new Error("failed", { cause: thrown });
    const inCall = Object.assign(new Error(PLUGIN + thrown.message), {
      code: 14,
      details: PLUGIN.slice(16) + thrown.message,
    });
    const errors = [
      credentialsError(thrown, SUBJECT),
      credentialsError(wrapped, SUBJECT),
      signerErrorFrom(thrown, SUBJECT),
      signerErrorFrom(inCall, SUBJECT),
    ];
    for (const error of errors) expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("SECRET");
  });
});

test("a message of many addresses costs no time", () => {
  const startedAt = performance.now();
  credentialsError(new Error("http://a".repeat(100_000)), SUBJECT);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test.each(["accessToken", "AccessKeyId"])("an answer that is null where %s is expected is an outage", (member) => {
  const error = new TypeError(`Cannot read properties of null (reading '${member}')`);
  expect(credentialsError(error, SUBJECT)).toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("gave an unreadable answer") as string,
  });
});

test("an executable that fails is said to", () => {
  expect(credentialsError(new Error("The executable returned an invalid response: x"), SUBJECT)).toMatchObject({
    code: "access_denied",
    message: expect.stringMatching(/: the executable that provides them failed$/),
  });
});

test("a file that is no JSON is said to be", () => {
  for (const error of [parseFailure("SECRET"), new Error(ofSdk)]) {
    expect(credentialsError(error, SUBJECT)).toMatchObject({
      code: "access_denied",
      message: expect.stringMatching(/: they are not JSON$/),
    });
  }
});
