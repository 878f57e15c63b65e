import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Answer, Exchange, HeaderLine, ProbeRequest } from "../../src/check/exchange.ts";
import { createProber } from "../../src/check/probe/prober.ts";
import { get } from "../../src/check/probe/requests.ts";
import type { Sending, Sent } from "../../src/check/probe/send.ts";

// Which requests the prober makes, and to which networks.

const network = vi.hoisted(() => ({
  sent: [] as { request: ProbeRequest; sending: Sending }[],
  answer: (_request: ProbeRequest): Sent => {
    throw new TypeError("there is no answer");
  },
}));
vi.mock("../../src/check/probe/send.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  send: async (request: ProbeRequest, sending: Sending) => {
    network.sent.push({ request, sending });
    return network.answer(request);
  },
}));
beforeEach(() => {
  network.sent.length = 0;
  network.answer = (request) => ({ exchange: answered(request), isPrivate: false });
});

const GIVEN = "https://op.example";
const OTHER = "https://keys.example/jwks";
const PROBING = { timeoutMs: 1000, maxBytes: 1000, signal: new AbortController().signal, isHttpAllowed: false };

function answered(request: ProbeRequest, status = 200, headers: readonly HeaderLine[] = []): Answer {
  const more = { isTruncated: false, strayBytes: 0, sentAt: 0, tookMs: 0, tls: undefined };
  return { kind: "answer", request, status, headers, body: Buffer.alloc(0), ...more };
}

const lost = (request: ProbeRequest): Exchange => ({
  kind: "no-answer",
  request,
  reason: "connection",
  detail: "ECONNRESET",
});

describe("another host than the given one is asked", () => {
  type From = "public" | "private" | "lost in private";

  test.each<[before: readonly From[], isPublicOnly: boolean]>([
    [[], true],
    [["public"], true],
    [["private"], false],
    [["private", "private"], false],
    [["public", "private"], true],
    [["private", "public"], true],
    [["private", "public", "private"], true],
    [["lost in private"], true],
    [["private", "lost in private"], false],
  ])("after answers that were %j only on the Internet: %s", async (before, isPublicOnly) => {
    const prober = createProber(GIVEN, PROBING);
    for (const from of before) {
      network.answer = (request) => ({
        exchange: from === "lost in private" ? lost(request) : answered(request),
        isPrivate: from !== "public",
      });
      await prober.ask(get(`${GIVEN}/jwks`));
    }
    // What it answers itself changes nothing.
    network.answer = (request) => ({ exchange: answered(request), isPrivate: true });
    await prober.ask(get(OTHER));
    await prober.ask(get(OTHER));
    const [first, second] = network.sent.slice(-2).map(({ sending }) => sending.isPublicOnly);
    expect([first, second]).toEqual([isPublicOnly, isPublicOnly]);
    expect(network.sent.slice(0, -2).map(({ sending }) => sending.isPublicOnly)).toEqual(before.map(() => false));
  });

  test("with the bounds of the prober", async () => {
    await createProber(GIVEN, PROBING).ask(get(OTHER));
    expect(network.sent[0]?.sending).toEqual({ ...PROBING, isPublicOnly: true });
  });
});

describe("a URL that is not asked", () => {
  test.each<[url: string, isHttpAllowed: boolean, detail: string | undefined]>([
    ["https://op.example/jwks", false, undefined],
    ["http://localhost:8080/jwks", false, undefined],
    ["http://op.example/jwks", true, undefined],
    ["http://op.example/jwks", false, "plain HTTP (--allow-http asks anyway)"],
    ["ftp://localhost/jwks", true, "the URL is not http or https"],
    ["file:///etc/passwd", true, "the URL is not http or https"],
  ])("%s, with plain HTTP allowed: %s", async (url, isHttpAllowed, detail) => {
    const prober = createProber(GIVEN, { ...PROBING, isHttpAllowed });
    const request = get(url);
    for (const exchange of [await prober.ask(request), await prober.askAt(request, undefined)]) {
      expect(exchange).toEqual(
        detail === undefined ? answered(request) : { kind: "no-answer", request, reason: "not-allowed", detail },
      );
    }
    expect(network.sent).toHaveLength(detail === undefined ? 2 : 0);
  });
});

test("a replica is asked at its address, whatever network that is in", async () => {
  const address = { host: "10.0.0.7", port: 8443 };
  await createProber(GIVEN, PROBING).askAt(get(OTHER), address);
  expect(network.sent).toEqual([{ request: get(OTHER), sending: { ...PROBING, address, isPublicOnly: false } }]);
});

describe("a redirect", () => {
  /** Answers each URL of a chain with a redirect to the next one. */
  function chained(urls: readonly string[], status = 302): void {
    network.answer = (request) => {
      const next = urls[urls.indexOf(request.url) + 1];
      const exchange = next === undefined ? answered(request) : answered(request, status, [["Location", next]]);
      return { exchange, isPrivate: false };
    };
  }
  const chain = (length: number): readonly string[] =>
    Array.from({ length: length + 1 }, (_, index) => `${GIVEN}/${index}`);

  test.each([
    [0, 0, 200],
    [1, 1, 200],
    [3, 3, 200],
    [4, 3, 302],
    [9, 3, 302],
  ])("of %i in a row is followed %i times, which ends with %i", async (length, followed, status) => {
    const urls = chain(length);
    chained(urls);
    const { redirects, exchange } = await createProber(GIVEN, PROBING).follow(get(`${GIVEN}/0`));
    expect(redirects.map(({ request }) => request.url)).toEqual(urls.slice(0, followed));
    expect(exchange).toMatchObject({ status, request: { url: urls[followed], headers: get(GIVEN).headers } });
  });

  test("has one of these codes", async () => {
    const followed: number[] = [];
    for (let status = 299; status < 312; status += 1) {
      chained(chain(1), status);
      const { redirects } = await createProber(GIVEN, PROBING).follow(get(`${GIVEN}/0`));
      if (redirects.length > 0) followed.push(status);
    }
    expect(followed).toEqual([301, 302, 303, 307, 308]);
  });

  test.each<[location: string | undefined, next: string | undefined]>([
    ["https://cdn.example/a", "https://cdn.example/a"],
    ["/b?c", `${GIVEN}/b?c`],
    ["d", `${GIVEN}/a/d`],
    [undefined, undefined],
    ["https://[", undefined],
  ])("to %s leads to %s", async (location, next) => {
    network.answer = (request) => {
      const headers: readonly HeaderLine[] = location === undefined ? [] : [["location", location]];
      const isFirst = network.sent.length === 1;
      return { exchange: isFirst ? answered(request, 307, headers) : answered(request), isPrivate: false };
    };
    await createProber(GIVEN, PROBING).follow(get(`${GIVEN}/a/b`));
    expect(network.sent.map(({ request }) => request.url).slice(1)).toEqual(next === undefined ? [] : [next]);
  });

  test("is not followed where nothing was answered", async () => {
    network.answer = (request) => ({ exchange: lost(request), isPrivate: false });
    const followed = await createProber(GIVEN, PROBING).follow(get(GIVEN));
    expect(followed).toEqual({ redirects: [], exchange: lost(get(GIVEN)) });
  });
});
