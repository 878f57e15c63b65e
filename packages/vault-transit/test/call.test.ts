import { inspect } from "node:util";
import { expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { callOnce } from "../src/call.ts";
import type { Connection } from "../src/connection.ts";
import type { HttpAnswer } from "../src/exchange.ts";

const ANSWER: HttpAnswer = {
  status: 200,
  json: { data: { key: "value" } },
  errors: [],
  hasErrors: false,
  repeatsSecrets: false,
  retryAfter: undefined,
};
const { signal } = new AbortController();

function calling(outcome: () => Promise<HttpAnswer>, ending = signal): Promise<unknown> {
  const connection: Connection = {
    address: "https://vault.example:8200",
    namespace: "team",
    notes: () => [],
    status: () => "ready",
    call: outcome,
    close: async () => {},
  };
  const bounds = { signal: ending, timeoutMs: 1000 };
  return callOnce(connection, "read op", bounds, { method: "GET", path: "transit/keys/op" });
}

test.each([200, 204, 299])("the data of an answer with status %i is its result", async (status) => {
  expect(await calling(async () => ({ ...ANSWER, status }))).toEqual({ key: "value" });
});

test.each([
  ["without data", { wrap_info: { token: "hvs.wrapped-secret" } }],
  ["with data of null", { data: null, wrap_info: { token: "hvs.wrapped-secret" } }],
])("an answer %s that the server wrapped is denied, and shows no token", async (_what, json) => {
  const error: unknown = await calling(async () => ({ ...ANSWER, json })).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "access_denied",
    transient: false,
    message: expect.stringMatching(/^cannot read op at https:.* in the namespace team: the server wrapped the answer/),
  });
  expect(inspect(error)).not.toContain("hvs.");
});

test.each([undefined, null])("an answer whose wrap_info is %j is not wrapped", async (wrapped) => {
  const json = { data: null, wrap_info: wrapped };
  expect(await calling(async () => ({ ...ANSWER, json }))).toBeNull();
  expect(await calling(async () => ({ ...ANSWER, json: { ...json, data: "value" } }))).toBe("value");
});

test.each([199, 300, 400, 503])(
  "an answer with status %i is an error, which names the call and its place",
  async (status) => {
    const error: unknown = await calling(async () => ({ ...ANSWER, status })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SignerError);
    expect(String(error)).toContain("cannot read op at https://vault.example:8200");
  },
);

test("a call that its signal ended says why, whatever the client says", async () => {
  const reason = new Error("gone");
  const fails = async (): Promise<never> => Promise.reject(new SignerError("unavailable", "cut"));
  await expect(calling(fails, AbortSignal.abort(reason))).rejects.toMatchObject({ code: "aborted", cause: reason });
});

test("an error of ours stays as it is, and another one becomes ours", async () => {
  const error = new SignerError("wrong_key", "another key");
  await expect(calling(async () => Promise.reject(error))).rejects.toBe(error);
  const cut = Object.assign(new Error("cut"), { code: "ECONNRESET" });
  await expect(calling(async () => Promise.reject(cut))).rejects.toMatchObject({
    code: "unavailable",
    transient: true,
  });
});
