import { describe, expect, test } from "vitest";
import type { VaultTransitHttpRequest, VaultTransitHttpResponse } from "@signpost/vault-transit";
import type { ApiRequest } from "../src/api.ts";
import { rowOfAnswer, rowOfError } from "../src/error-table.ts";
import { exchange, type Exchange } from "../src/exchange.ts";

const { signal } = new AbortController();
const GET: ApiRequest = { method: "GET", path: "transit/keys/op" };
const POST: ApiRequest = {
  method: "POST",
  path: "auth/approle/login",
  body: { secret_id: 'sec"ret' },
  secrets: ['sec"ret'],
};

/** Sends a request to a dispatcher that gives this answer. */
function answered(
  response: Partial<VaultTransitHttpResponse>,
  { request = GET, token, place }: { request?: ApiRequest; token?: string; place?: Partial<Exchange> } = {},
): { readonly answer: ReturnType<typeof exchange>; readonly sent: VaultTransitHttpRequest[] } {
  const sent: VaultTransitHttpRequest[] = [];
  const dispatcher = {
    request: async (made: VaultTransitHttpRequest) => {
      sent.push(made);
      return { statusCode: 200, headers: {}, body: [Buffer.from("{}")], ...response };
    },
  };
  const origin = "https://vault.example:8200";
  const at = { dispatcher, origin, origins: new Set<string>(), namespace: undefined, ...place };
  return { answer: exchange(at, request, token, signal), sent };
}

const errors = (...texts: unknown[]): readonly Uint8Array[] => [Buffer.from(JSON.stringify({ errors: texts }))];

describe("a request", () => {
  test.each<[request: ApiRequest, token: string | undefined, namespace: string | undefined, headers: object]>([
    [GET, undefined, undefined, {}],
    [GET, "t", "team", { "x-vault-token": "t", "x-vault-namespace": "team" }],
    [{ ...GET, namespace: "other" }, "t", "team", { "x-vault-token": "t", "x-vault-namespace": "other" }],
    [POST, undefined, undefined, { "content-type": "application/json" }],
  ])("%j with the token %s in the namespace %s has its headers", async (request, token, namespace, headers) => {
    const { answer, sent } = answered({}, { request, ...(token !== undefined && { token }), place: { namespace } });
    await answer;
    const common = { accept: "application/json", "x-vault-request": "true" };
    expect(sent).toEqual([
      {
        origin: "https://vault.example:8200",
        path: `/v1/${request.path}`,
        method: request.method,
        headers: { ...common, ...headers },
        signal,
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      },
    ]);
  });
});

describe("an answer", () => {
  const json = (length: number): Buffer => Buffer.from(`{"a":"${"x".repeat(length - 8)}"}`);
  test("is read up to 64 KiB", async () => {
    await expect(answered({ body: [json(65_536)] }).answer).resolves.toHaveProperty("json.a.length", 65_528);
    const tooLong = [json(65_537).subarray(0, 100), json(65_537).subarray(100)];
    await expect(answered({ body: tooLong }).answer).rejects.toMatchObject({
      code: "integrity",
      transient: false,
      message: "the answer has more than 65536 bytes",
    });
    await expect(answered({ statusCode: 503, body: tooLong }).answer).resolves.toMatchObject({ json: undefined });
  });

  test.each<[status: number, isSuccess: boolean]>([
    [199, false],
    [200, true],
    [299, true],
    [300, false],
  ])("with status %i that is not JSON is damaged: %s", async (statusCode, isSuccess) => {
    const { answer } = answered({ statusCode, body: [Buffer.from("<html>")] });
    const found = await answer.catch((error: unknown) => error);
    expect(found).toMatchObject(
      isSuccess ? { code: "integrity", transient: true } : { status: statusCode, errors: [], hasErrors: false },
    );
  });

  test("that is empty has no JSON", async () => {
    await expect(answered({ statusCode: 204, body: [] }).answer).resolves.toMatchObject({
      status: 204,
      json: undefined,
    });
  });

  test.each<[body: readonly Uint8Array[], texts: readonly string[], hasErrors: boolean]>([
    [errors("one", "two"), ["one", "two"], true],
    [errors("one", 2, null), ["one"], true],
    [errors(), [], true],
    [[Buffer.from('{"errors":"one"}')], [], false],
    [[Buffer.from("{}")], [], false],
    [[Buffer.from("null")], [], false],
    [[Buffer.from('"errors"')], [], false],
  ])("has the messages of its own form: %#", async (body, texts, hasErrors) => {
    await expect(answered({ statusCode: 400, body }).answer).resolves.toMatchObject({ errors: texts, hasErrors });
  });

  test.each<[text: string, repeats: boolean]>([
    ["denied", false],
    ["denied for token-1", true],
    ['denied for sec"ret', true],
    ['denied for "sec\\"ret"', true],
    ["denied for sec", false],
  ])("that says %j repeats a secret: %s", async (text, repeatsSecrets) => {
    const { answer } = answered({ statusCode: 400, body: errors("first", text) }, { request: POST, token: "token-1" });
    await expect(answer).resolves.toMatchObject({ repeatsSecrets });
  });

  test("repeats nothing if it has no message", async () => {
    const { answer } = answered({ statusCode: 400, body: errors() }, { token: "t" });
    await expect(answer).resolves.toMatchObject({ repeatsSecrets: false });
  });

  test.each([
    ["7", 7],
    ["999999", 999_999],
    ["1000000", undefined],
    ["-1", undefined],
    ["7s", undefined],
    [["7"], undefined],
  ])("with retry-after %j asks to wait %s s", async (value, retryAfter) => {
    const { answer } = answered({ statusCode: 429, headers: { "retry-after": value } });
    await expect(answer).resolves.toMatchObject({ retryAfter });
  });
});

describe("a redirect", () => {
  test.each<[statusCode: number, location: string | readonly string[] | undefined, isOne: boolean]>([
    [307, "https://node.example/v1/x", true],
    [308, "https://node.example/v1/x", true],
    [307, "/v1/x", true],
    [302, "https://node.example/v1/x", false],
    [301, "https://node.example/v1/x", false],
    [307, undefined, false],
    [307, ["https://node.example/"], false],
    [307, "https://", false],
  ])("of status %i to %j is one: %s", async (statusCode, location, isOne) => {
    const { answer, sent } = answered({ statusCode, headers: { location }, body: errors("x") });
    const found = await answer.catch((error: unknown) => error);
    expect(found).toMatchObject(
      isOne
        ? { code: "unavailable", message: expect.stringContaining("redirects to") as string }
        : { status: statusCode },
    );
    expect(sent).toHaveLength(1);
  });

  test("to a host with a secret of the request in its name does not show it", async () => {
    const request = { ...POST, secrets: ["SECRET-1"] };
    const location = "https://secret-1.example/";
    const { answer } = answered({ statusCode: 307, headers: { location } }, { request });
    await expect(answer).rejects.toThrow("the server redirects to a host, which is not in clusterAddresses");
    const other = answered({ statusCode: 307, headers: { location } }, { request: POST });
    await expect(other.answer).rejects.toThrow("redirects to https://secret-1.example, which");
  });
});

describe("the row for an answer", () => {
  test.each<[status: number, hasErrors: boolean, code: string]>([
    [399, true, "unavailable"],
    [400, true, "invalid_argument"],
    [404, true, "key_not_found"],
    [404, false, "unavailable"],
    [408, true, "timeout"],
    [412, true, "unavailable"],
    [413, true, "invalid_argument"],
    [413, false, "unavailable"],
    [499, true, "invalid_argument"],
    [499, false, "unavailable"],
    [500, true, "unavailable"],
    [504, false, "timeout"],
  ])("with status %i, of the server: %s", (status, hasErrors, code) => {
    expect(rowOfAnswer({ status, errors: [], hasErrors, retryAfter: undefined }).code).toBe(code);
  });

  test.each<[error: object, code: string, text: RegExp]>([
    [{ code: "UND_ERR_RESPONSE", statusCode: 503 }, "unavailable", /HTTP status 503/],
    [{ code: "UND_ERR_REQ_RETRY", statusCode: 404 }, "key_not_found", /no such key/],
    [{ code: "UND_ERR_RESPONSE" }, "integrity", /unknown/],
    [{ code: "ECONNRESET", statusCode: 404 }, "unavailable", /ECONNRESET/],
    [{ code: "HPE_INVALID_CONSTANT" }, "unavailable", /HTTP/],
    [{ name: "HTTPParserError" }, "unavailable", /HTTP/],
    [{ code: "UND_ERR_SOCKS5_AUTH" }, "unavailable", /the proxy cannot be used \(UND_ERR_SOCKS5_AUTH\)/],
    [
      { message: "Proxy response (407) !== 200 when HTTP Tunneling" },
      "unavailable",
      /the proxy answered with status 407/,
    ],
    [{ message: "Proxy response (4070) x" }, "integrity", /unknown/],
    [{ code: "ERR_INVALID_ARG_TYPE" }, "integrity", /unknown/],
    [{ code: "EAI_AGAIN" }, "unavailable", /\(EAI_AGAIN\)$/],
    [{ code: 7 }, "integrity", /unknown/],
  ])("or for the error %j", (error, code, text) => {
    expect(rowOfError(error)).toMatchObject({ code, text: expect.stringMatching(text) as string });
  });
});

test.each([
  ["to a stranger", "https://other.example/", "which is not in clusterAddresses"],
  ["that follows another", "https://active.example/", "redirects too"],
])(
  "the body of a redirect %s is read before it is refused, so that its connection is used again",
  async (_which, location, text) => {
    let [asked, read] = [0, 0];
    async function* body(): AsyncGenerator<Uint8Array> {
      asked += 1;
      yield Buffer.from("moved");
      await new Promise((resolve) => void setImmediate(resolve));
      read += 1;
    }
    const dispatcher = { request: async () => ({ statusCode: 307, headers: { location }, body: body() }) };
    const origins = new Set(["https://active.example"]);
    const at = { dispatcher, origin: "https://vault.example:8200", origins, namespace: undefined };
    await expect(exchange(at, GET, undefined, signal)).rejects.toThrow(text);
    expect(read).toBe(asked);
    expect(read).toBeGreaterThan(0);
  },
);
