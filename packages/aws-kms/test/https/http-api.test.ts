import { Agent, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { closedError } from "@signpost/core/adapter";
import { createHttpApi, type HttpService } from "../../src/https/http-api.ts";
import { sentSecretsOf } from "../../src/sent-secrets.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const SECOND_MS = 1000;
const CREDENTIALS = { accessKeyId: "AKIA1", secretAccessKey: "secret", sessionToken: "session-1" };
const KEY = { KeyId: "alias/op" };

interface Asked {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}
const asked: Asked[] = [];
let answer: (response: ServerResponse) => void = (response) => void response.end("{}");
const server = createServer((incoming, response) => {
  void text(incoming).then((body) => {
    asked.push({ headers: incoming.headers, body });
    answer(response);
  });
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address() as AddressInfo;
const agent = new Agent();

beforeEach(() => {
  asked.length = 0;
  answer = (response) => void response.end("{}");
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => {
  agent.destroy();
  server.close();
});

const open = (others: Partial<HttpService> = {}) =>
  createHttpApi({
    target: { plaintext: true, hostname: "127.0.0.1", port, path: "/", agent, timeoutMs: 20_000 },
    host: `127.0.0.1:${port}`,
    region: "eu-west-1",
    credentials: { get: () => CREDENTIALS, renew: async () => undefined },
    assertOpen: () => undefined,
    ...others,
  });

const reply = (status: number, members: object, date?: string): void => {
  answer = (response) => {
    if (date === undefined) response.sendDate = false;
    else response.setHeader("date", date);
    response.writeHead(status).end(JSON.stringify(members));
  };
};
const httpDate = (ms: number): string => new Date(ms).toUTCString();
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("a call", () => {
  test("sends the input of GetPublicKey, and decodes the key", async () => {
    reply(200, { ...KEY, PublicKey: "AAEC" });
    expect(await open().getPublicKey(KEY, {})).toEqual({ ...KEY, PublicKey: Buffer.from([0, 1, 2]) });
    expect(asked.map(({ body }) => body)).toEqual(['{"KeyId":"alias/op"}']);
    expect(asked[0]?.headers).toMatchObject({
      "content-type": "application/x-amz-json-1.1",
      "x-amz-target": "TrentService.GetPublicKey",
      "content-length": "20",
      "user-agent": "signpost-aws-kms",
      "x-amz-date": "20260601T120000Z",
      "x-amz-security-token": "session-1",
    });
  });

  test("sends exactly the bytes of a digest that is part of a larger buffer, and decodes the signature", async () => {
    reply(200, { ...KEY, Signature: "/+8=" });
    const Message = Uint8Array.from([9, 0, 1, 2, 9]).subarray(1, 4);
    const input = { ...KEY, Message, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
    expect(await open().sign(input, {})).toEqual({ ...KEY, Signature: Buffer.from([255, 239]) });
    expect(JSON.parse(asked[0]?.body ?? "")).toEqual({ ...input, Message: "AAEC" });
    expect(asked[0]?.headers["x-amz-target"]).toBe("TrentService.Sign");
  });

  test("counts the bytes of its body", async () => {
    await open().getPublicKey({ KeyId: "ä" }, {});
    expect(asked[0]?.headers["content-length"]).toBe("14");
  });

  test("is not sent once the transport is closed, even if it was waiting for credentials", async () => {
    const assertOpen = (): never => {
      throw closedError();
    };
    for (const get of [() => CREDENTIALS, async () => CREDENTIALS]) {
      const api = open({ assertOpen, credentials: { get, renew: async () => undefined } });
      expect(await rejection(api.getPublicKey(KEY, {}))).toMatchObject({ code: "closed" });
    }
    expect(asked).toEqual([]);
  });

  test("that fails remembers the session token that was sent with it", async () => {
    reply(400, { __type: "NotFoundException" });
    const error = await rejection(open().getPublicKey(KEY, {}));
    expect(error).toMatchObject({ name: "NotFoundException" });
    expect(sentSecretsOf(error)).toEqual(["session-1"]);
  });
});

describe("the time of a request", () => {
  /** By how many seconds the time of the next request is ahead, after an answer with this date. */
  async function aheadAfter(dates: readonly (string | undefined)[], name = "RequestExpired"): Promise<number> {
    const api = open();
    for (const date of dates) {
      reply(400, { __type: name }, date);
      expect(await rejection(api.getPublicKey(KEY, {}))).toMatchObject({ name });
    }
    reply(200, {});
    await api.getPublicKey(KEY, {});
    const time = String(asked.at(-1)?.headers["x-amz-date"]).replace(/(....)(..)(..T..)(..)(..Z)/, "$1-$2-$3:$4:$5");
    return (Date.parse(time) - NOW) / SECOND_MS;
  }
  const HUNDRED_YEARS = 3_155_760_000;

  test.each([
    [59, 0],
    [60, 60],
    [-59, 0],
    [-60, -60],
    [7200, 7200],
    [HUNDRED_YEARS, HUNDRED_YEARS],
    [HUNDRED_YEARS + 1, 0],
  ])("follows a service that is %i s ahead and refuses the request: by %i s", async (byS, ahead) => {
    expect(await aheadAfter([httpDate(NOW + byS * SECOND_MS)])).toBe(ahead);
  });

  test.each([[undefined], ["soon"], [""]])("stays after a refusal with the date %j", async (date) => {
    expect(await aheadAfter([date])).toBe(0);
    expect(await aheadAfter([httpDate(NOW + 90_000), date])).toBe(90);
  });

  test("stays after another error", async () => {
    expect(await aheadAfter([httpDate(NOW + 90_000)], "NotFoundException")).toBe(0);
  });

  test("moves again by a minute or more, and not by less", async () => {
    expect(await aheadAfter([httpDate(NOW + 120_000), httpDate(NOW + 61_000)])).toBe(120);
    expect(await aheadAfter([httpDate(NOW + 120_000), httpDate(NOW + 60_000)])).toBe(60);
    expect(await aheadAfter([httpDate(NOW + 120_000), httpDate(NOW)])).toBe(0);
  });
});
