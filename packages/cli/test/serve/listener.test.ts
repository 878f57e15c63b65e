import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import { listen, type Listener, type ListenerOptions } from "../../src/serve/http/listener.ts";
import { get, openRaw, statuses } from "./support/raw.ts";

// A port by itself, without what it serves.

const open: Listener[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((port) => port.close(0)));
});

const PLACE = { host: "127.0.0.1", port: 0, flags: { host: "--host", port: "--port" } };

interface Heard {
  readonly refused: string[];
  readonly failed: unknown[];
  evicted: number;
}

async function listening(options: Partial<ListenerOptions> = {}): Promise<Listener & { readonly heard: Heard }> {
  const heard: Heard = { refused: [], failed: [], evicted: 0 };
  const port = await listen({
    place: PLACE,
    maxConnections: 10,
    answer: (_request, response) => void response.end("ok"),
    onRefused: (reason) => void heard.refused.push(reason),
    onEvicted: () => void (heard.evicted += 1),
    onFailed: (error) => void heard.failed.push(error),
    ...options,
  });
  open.push(port);
  return { ...port, heard };
}

// Without its own limit of a second, only that of a socket without traffic would end it, after 15 s.
test("a connection on which nothing was sent does not delay the end", { timeout: 10_000 }, async () => {
  const port = await listening();
  const silent = await openRaw(port.origin);
  const late = await openRaw(port.origin);
  await expect.poll(port.connections).toBe(2);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const closed = port.close(3_600_000);
  // Its request was on its way.
  late.socket.write("GET / HTTP/1.1\r\nHost: op\r\n\r\n");
  expect(await late.closed()).toMatch(/^HTTP\/1\.1 200 OK\r\nConnection: close\r\n/);
  await vi.advanceTimersByTimeAsync(1000);
  await closed;
  expect(await silent.closed()).toBe("");
});

describe("a request that no route gets", () => {
  const chunked = `POST / HTTP/1.1\r\nHost: op\r\nTransfer-Encoding: chunked\r\n\r\n1;${"a".repeat(40_000)}\r\n`;

  test.each([
    ["nonsense", "nonsense\r\n\r\n", 400, "Bad Request", "malformed"],
    [
      "a header that is too large",
      `GET / HTTP/1.1\r\nHost: op\r\nX: ${"a".repeat(9000)}\r\n\r\n`,
      431,
      "Request Header Fields Too Large",
      "too_large",
    ],
  ])("because it is %s", async (_what, bytes, status, words, reason) => {
    const { origin, heard } = await listening();
    const raw = await openRaw(origin, bytes);
    expect(await raw.closed()).toBe(`HTTP/1.1 ${status} ${words}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    expect(heard).toEqual({ refused: [reason], failed: [], evicted: 0 });
  });

  test("because its chunks have extensions that are too large, after the answer to the rest", async () => {
    const { origin, heard } = await listening();
    const raw = await openRaw(origin, chunked);
    await raw.closed();
    expect(heard.refused).toEqual(["too_large"]);
  });
});

test("a request that expects something is answered as any other", async () => {
  const { origin, heard } = await listening();
  const raw = await openRaw(origin, get(`${origin}/`, "Expect: nothing\r\nConnection: close"));
  expect(statuses(await raw.closed())).toEqual([200]);
  expect(heard.refused).toEqual([]);
});

describe("a route that throws", () => {
  test("is answered with 500, and told", async () => {
    const error = new TypeError("a mistake");
    const port = await listening({
      answer: () => {
        throw error;
      },
    });
    const response = await fetch(port.origin);
    expect([response.status, response.headers.get("cache-control"), await response.text()]).toEqual([
      500,
      "no-store",
      "",
    ]);
    expect(port.heard.failed).toEqual([error]);
  });

  test("after its header ends the answer there", async () => {
    const port = await listening({
      answer: (_request, response) => {
        response.writeHead(200).write("begun");
        throw new TypeError("a mistake");
      },
    });
    const response = await fetch(port.origin);
    expect([response.status, await response.text()]).toEqual([200, "begun"]);
    expect(port.heard.failed).toHaveLength(1);
  });
});

describe("the body of a request", () => {
  const bytes = (length: number): string =>
    `POST / HTTP/1.1\r\nHost: op\r\nContent-Length: ${length}\r\n\r\n${"a".repeat(length)}`;

  test("is read up to 64 KiB, so that the connection can be used again", async () => {
    const { origin } = await listening();
    const raw = await openRaw(origin, `${bytes(65_536)}${get(`${origin}/`, "Connection: close")}`);
    expect(statuses(await raw.closed())).toEqual([200, 200]);
  });

  test("ends the connection if it is longer", async () => {
    const { origin } = await listening();
    const raw = await openRaw(origin, `${bytes(65_537)}${get(`${origin}/`, "Connection: close")}`);
    expect(statuses(await raw.closed()).length).toBeLessThan(2);
  });
});

describe("connections", () => {
  test("make room for others when there are as many as may be", async () => {
    const port = await listening({ maxConnections: 2 });
    const first = await openRaw(port.origin, get(`${port.origin}/`));
    await first.until("ok");
    const second = await openRaw(port.origin, get(`${port.origin}/`));
    await second.until("ok");
    const third = await openRaw(port.origin, get(`${port.origin}/`));
    await third.until("ok");
    await first.closed();
    expect(port.heard.evicted).toBe(1);
    await expect.poll(port.connections).toBe(2);
  });

  test("have their last response when the server says so, and are taken as before", async () => {
    const port = await listening();
    expect((await fetch(port.origin)).headers.get("connection")).toBe("keep-alive");
    port.lastResponses();
    const responses = await Promise.all([fetch(port.origin), fetch(port.origin)]);
    expect(responses.map(({ status, headers }) => [status, headers.get("connection")])).toEqual([
      [200, "close"],
      [200, "close"],
    ]);
  });

  test("that wait for an answer are cut off when the time of the end is over", async () => {
    const port = await listening({ answer: () => undefined });
    const raw = await openRaw(port.origin, get(`${port.origin}/`));
    await expect.poll(port.connections).toBe(1);
    await port.close(0);
    expect(await raw.closed()).toBe("");
    await expect.poll(port.connections).toBe(0);
  });
});

describe("where it listens", () => {
  test.each([
    ["127.0.0.1", "http://127.0.0.1:"],
    ["0.0.0.0", "http://127.0.0.1:"],
  ])("%s is %s", async (host, origin) => {
    const port = await listening({ place: { ...PLACE, host } });
    expect(port.origin).toMatch(new RegExp(`^${origin}[1-9]\\d*$`));
    expect(await (await fetch(port.origin)).text()).toBe("ok");
  });

  test("a port that another program uses is told with its flag", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    await expect(
      listening({ place: { host: "127.0.0.1", port, flags: { host: "--admin-host", port: "--admin-port" } } }),
    ).rejects.toMatchObject({
      exitCode: 2,
      code: "port_in_use",
      message: `--admin-port: another program uses port ${port}`,
      hint: "Stop that program, or choose another port with --admin-port. --admin-port 0 takes a free one",
      cause: { code: "EADDRINUSE" },
    });
    other.close();
  });

  test("an address that is not of this machine is told with its flag", async () => {
    await expect(listening({ place: { ...PLACE, host: "192.0.2.1" } })).rejects.toMatchObject({
      exitCode: 2,
      code: "host_unusable",
      message: '--host: cannot listen on "192.0.2.1" (EADDRNOTAVAIL)',
      hint: "Name an address of this machine: 127.0.0.1, ::1, 0.0.0.0 or ::",
      cause: { code: "EADDRNOTAVAIL" },
    });
  });
});
