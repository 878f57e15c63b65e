import { errors } from "oidc-provider";
import { describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { answerFailures, hostFailure } from "../src/failure.ts";
import type { OidcProviderContextLike } from "../src/host.ts";

interface Answer {
  status: number;
  type: string;
  body: unknown;
  readonly headers: Record<string, string>;
}

/** What a client gets if the host, or the writing of its error, ends so. */
async function answerAfter(next: (answer: Answer) => void): Promise<Answer> {
  const answer: Answer = { status: 404, type: "", body: undefined, headers: {} };
  const key = (name: string): string => name.toLowerCase();
  const context = Object.assign(answer, {
    res: {
      hasHeader: (name: string) => key(name) in answer.headers,
      getHeader: (name: string) => answer.headers[key(name)],
    },
    set: (name: string, value: string) => void (answer.headers[key(name)] = value),
    remove: (name: string) => void Reflect.deleteProperty(answer.headers, key(name)),
  });
  await answerFailures(context as unknown as OidcProviderContextLike, async () => next(answer));
  const { status, type, body, headers } = context;
  return { status, type, body, headers };
}

const away = hostFailure(new SignerError("unavailable", "away"), errors);
const refused = hostFailure(new SignerError("access_denied", "no"), errors);
const throwing = (error: unknown) => (): never => {
  throw error;
};

test.each([Object.assign(new Error("away"), { transient: true }), undefined, "text"])(
  "%s is no failure that passes: the client must not try again",
  (cause) => {
    expect(hostFailure(cause, errors)).toMatchObject({ error: "server_error", statusCode: 500 });
  },
);

describe("an error response that could not be signed", () => {
  test("is a plain page that says when to come back if the key is away", async () => {
    expect(await answerAfter(throwing(away))).toEqual({
      status: 503,
      type: "text/plain",
      body: "temporarily unavailable\n",
      headers: { "retry-after": "2" },
    });
  });

  test("is a plain page without a promise if trying again does not help", async () => {
    expect(await answerAfter(throwing(refused))).toEqual({
      status: 500,
      type: "text/plain",
      body: "server error\n",
      headers: {},
    });
  });

  test.each([new TypeError("a fault of the OP"), "text", null])("is left to the host if it is %s", async (error) => {
    await expect(answerAfter(throwing(error))).rejects.toBe(error);
  });
});

describe("a 503 of the host", () => {
  const unavailable = (headers: Record<string, string>) => (answer: Answer) => {
    answer.status = 503;
    Object.assign(answer.headers, headers);
  };

  test("says when to come back", async () => {
    expect((await answerAfter(unavailable({}))).headers).toEqual({ "retry-after": "2" });
  });

  test("keeps what it says itself", async () => {
    expect((await answerAfter(unavailable({ "retry-after": "60" }))).headers).toEqual({ "retry-after": "60" });
  });

  test("does not blame the token of the client, but keeps other challenges", async () => {
    const challenge = 'Bearer realm="op", error="temporarily_unavailable"';
    const other = 'Bearer realm="op"';
    const headersOf = async (value: string) => (await answerAfter(unavailable({ "www-authenticate": value }))).headers;
    expect(await headersOf(challenge)).toEqual({ "retry-after": "2" });
    expect(await headersOf(other)).toEqual({ "retry-after": "2", "www-authenticate": other });
  });

  test("is the only answer that is changed", async () => {
    const headers = { "www-authenticate": 'error="temporarily_unavailable"' };
    const answer = await answerAfter((given) => void Object.assign(given, { status: 401, body: "x", headers }));
    expect(answer).toMatchObject({ status: 401, body: "x", headers });
  });
});
