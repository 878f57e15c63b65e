import { afterEach, expect, test, vi } from "vitest";
import { listen } from "../../src/serve/http/listener.ts";
import { openRaw } from "./support/raw.ts";

afterEach(() => void vi.useRealTimers());

// Without its own limit of a second, only that of a socket without traffic would end it, after 15 s.
test("a connection on which nothing was sent does not delay the end", { timeout: 10_000 }, async () => {
  const nothing = (): void => undefined;
  const port = await listen({
    place: { host: "127.0.0.1", port: 0, flags: { host: "--host", port: "--port" } },
    maxConnections: 10,
    answer: (_request, response) => void response.end("ok"),
    onRefused: nothing,
    onEvicted: nothing,
    onFailed: nothing,
  });
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
