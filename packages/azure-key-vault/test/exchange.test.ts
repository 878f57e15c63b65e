import { describe, expect, test } from "vitest";
import type { AzureKeyVaultHttpRequest, AzureKeyVaultHttpResponse } from "@signpost/azure-key-vault";
import { rowOfError } from "../src/error-table.ts";
import { exchange, serviceErrorOf, type ApiRequest } from "../src/exchange.ts";

const { signal } = new AbortController();
const ORIGIN = "https://op.vault.azure.net";
const POST: ApiRequest = { method: "POST", path: "/keys/op/1/sign", body: { alg: "ES256" } };
const GET: ApiRequest = { method: "GET", path: "/keys/op" };

/** Sends a request to a dispatcher that gives this answer. */
function answered(
  response: Partial<AzureKeyVaultHttpResponse>,
  request: ApiRequest = POST,
): ReturnType<typeof exchange> {
  const dispatcher = {
    request: async () => ({ statusCode: 200, headers: {}, body: [Buffer.from("{}")], ...response }),
  };
  return exchange(dispatcher, ORIGIN, request, "token", signal);
}

/** JSON of this length. */
const json = (length: number): Buffer => Buffer.from(`{"a":"${"x".repeat(length - 8)}"}`);

describe("a request", () => {
  test.each<[request: ApiRequest, token: string | undefined, sent: Partial<AzureKeyVaultHttpRequest>]>([
    [
      POST,
      "token",
      {
        headers: { accept: "application/json", "content-type": "application/json", authorization: "Bearer token" },
        body: '{"alg":"ES256"}',
      },
    ],
    [GET, undefined, { headers: { accept: "application/json" } }],
  ])("%j is sent with its headers alone", async (request, token, sent) => {
    const requests: AzureKeyVaultHttpRequest[] = [];
    const dispatcher = {
      request: async (made: AzureKeyVaultHttpRequest) => {
        requests.push(made);
        return { statusCode: 200, headers: {}, body: [Buffer.from("{}")] };
      },
    };
    await exchange(dispatcher, ORIGIN, request, token, signal);
    const { method, path } = request;
    expect(requests).toEqual([{ origin: ORIGIN, method, path, signal, ...sent }]);
  });
});

describe("an answer", () => {
  test.each<[method: "GET" | "POST", longest: number]>([
    ["POST", 65_536],
    ["GET", 2_097_152],
  ])("to a %s is read up to %i bytes", async (method, longest) => {
    const request = method === "GET" ? GET : POST;
    await expect(answered({ body: [json(longest)] }, request)).resolves.toHaveProperty("json.a.length", longest - 8);
    const halves = [json(longest + 1).subarray(0, 100), json(longest + 1).subarray(100)];
    await expect(answered({ body: halves }, request)).rejects.toMatchObject({
      code: "integrity",
      transient: false,
      message: `the answer has more than ${longest} bytes`,
    });
    await expect(answered({ statusCode: 503, body: halves }, request)).resolves.toMatchObject({ json: undefined });
  });

  test("that is too long is not read to its end", async () => {
    let ended = false;
    let parts = 0;
    async function* body(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          parts += 1;
          yield Buffer.alloc(40_000);
        }
      } finally {
        ended = true;
      }
    }
    await expect(answered({ body: body() })).rejects.toMatchObject({ code: "integrity" });
    expect([ended, parts]).toEqual([true, 2]);
  });

  test.each<[status: number, isSuccess: boolean]>([
    [199, false],
    [200, true],
    [299, true],
    [300, false],
  ])("with status %i that is not JSON is damaged: %s", async (statusCode, isSuccess) => {
    const answer = await answered({ statusCode, body: [Buffer.from("<html>")] }).catch((error: unknown) => error);
    expect(answer).toMatchObject(
      isSuccess ? { code: "integrity", transient: true } : { status: statusCode, json: undefined },
    );
  });

  test.each(["", "7", '"text"', "null", "true"])("has an object as its JSON, not %j", async (text) => {
    await expect(answered({ body: [Buffer.from(text)] })).rejects.toMatchObject({ code: "integrity", transient: true });
    await expect(answered({ statusCode: 500, body: [Buffer.from(text)] })).resolves.toMatchObject({ json: undefined });
  });
});

describe("the answer in the error of an interceptor", () => {
  const failing = async (members: object): ReturnType<typeof exchange> => {
    const request = async (): Promise<never> => {
      throw Object.assign(new Error("x"), members);
    };
    return exchange({ request }, ORIGIN, GET, "token", signal);
  };

  test.each<[body: unknown, json: unknown]>([
    ['{"error":{"code":"Forbidden"}}', { error: { code: "Forbidden" } }],
    [{ error: { code: "Forbidden" } }, { error: { code: "Forbidden" } }],
    ["<html>", undefined],
  ])("is read from %j", async (body, json) => {
    const headers = { "retry-after": "3" };
    await expect(failing({ statusCode: 400, headers, body })).resolves.toEqual({ status: 400, headers, json });
    await expect(failing({ statusCode: 403, headers: null, body })).resolves.toEqual({
      status: 403,
      headers: {},
      json,
    });
  });

  test.each([{ statusCode: 399 }, { statusCode: "400" }, {}])("is none in %j", async (error) => {
    await expect(failing({ ...error, body: "{}" })).rejects.toMatchObject({ message: "x", ...error });
  });
});

describe("the error of the service", () => {
  const REQUEST_ID = "5f1c8ff4-8c1c-4e6e-9f6f-0c3f6a2f9d11";
  test("is what the answer says", () => {
    const error = { code: "Forbidden", message: "no", innererror: { code: "ForbiddenByRbac" } };
    const headers = { "retry-after": "7", "x-ms-request-id": REQUEST_ID };
    expect(serviceErrorOf({ status: 403, headers, json: { error } })).toEqual({
      statusCode: 403,
      code: "Forbidden",
      innerCode: "ForbiddenByRbac",
      message: "no",
      retryAfterSeconds: 7,
      requestId: REQUEST_ID,
    });
  });

  test.each<[headers: object, json: unknown]>([
    [{}, undefined],
    [{ "retry-after": "1234567", "x-ms-request-id": `${REQUEST_ID}0` }, { error: { code: 7, message: [] } }],
    [{ "retry-after": "-1", "x-ms-request-id": `a${REQUEST_ID}` }, { error: "text" }],
    [{ "retry-after": ["7"], "x-ms-request-id": [REQUEST_ID] }, { error: { innererror: "text" } }],
    [{ "retry-after": "7s" }, []],
  ])("is empty for headers %j and JSON %j", (headers, json) => {
    const empty = { code: undefined, innerCode: undefined, message: "" };
    const found = serviceErrorOf({ status: 500, headers: headers as Record<string, string>, json });
    expect(found).toEqual({ statusCode: 500, ...empty, retryAfterSeconds: undefined, requestId: undefined });
  });

  test.each([
    [399, "unavailable"],
    [400, "key_not_found"],
    [499, "key_not_found"],
    [500, "unavailable"],
  ])("with status %i and a code of the service is %s", (statusCode, code) => {
    expect(rowOfError({ statusCode, code: "KeyNotFound" })).toMatchObject({ code });
  });

  test.each([
    [{ statusCode: 404, code: "x" }, "key_not_found"],
    [{ statusCode: 404 }, "unavailable"],
    [{ statusCode: 400 }, "invalid_argument"],
    [{ statusCode: 418, code: "x" }, "invalid_argument"],
    [{ statusCode: 418 }, "unavailable"],
    [{ statusCode: 399, code: "x" }, "unavailable"],
    [{ statusCode: 599 }, "unavailable"],
    [{ statusCode: 408 }, "timeout"],
    [{ statusCode: 504, code: "x" }, "timeout"],
    [{ statusCode: 429 }, "throttled"],
    [{ statusCode: 401, message: "AKV10032: x" }, "access_denied"],
  ])("%j is %s", (error, code) => {
    expect(rowOfError(error)).toMatchObject({ code });
  });

  test("names the reason of a refused token, and only that", () => {
    expect(rowOfError({ statusCode: 401, message: "xAKV10032 AKV100 AKV10033: tenant" }).text).toBe(
      "the vault refused the token (AKV10033)",
    );
    expect(rowOfError({ statusCode: 401 }).text).toBe("the vault refused the token");
  });
});
