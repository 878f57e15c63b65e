import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test, vi } from "vitest";
import { dropRequests, recordRequests, type OpenRequests, type RequestRecord } from "../src/credential-requests.ts";

const server = createServer();
await once(server.listen(0, "127.0.0.1"), "listening");
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A search that asks once and goes on. Node tells of the request when it has a connection. */
function search(record: RequestRecord): ClientRequest {
  let asked: ClientRequest | undefined;
  void recordRequests(record, () => {
    asked = ask();
    return new Promise<never>(() => undefined);
  });
  if (asked === undefined) throw new Error("expected a request");
  return asked;
}

const newOpen = (): OpenRequests => ({ pending: new Set(), dropped: false });
const ask = (): ClientRequest => {
  const asked = request(`${origin}/token?secret=${(requests += 1)}`);
  return asked.on("error", () => undefined).end();
};
let requests = 0;

/** The response to a request, once that has arrived. */
async function arrivalOf({ path }: ClientRequest): Promise<ServerResponse> {
  for (;;) {
    const [arrived, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
    if (arrived.url === path) return response;
  }
}
const closed = async (asked: ClientRequest): Promise<void> => {
  if (!asked.closed) await new Promise((resolve) => void asked.once("close", resolve));
};

describe("the requests of a search for credentials", () => {
  test("are known by their origin until they end, and by the status of their answer", async () => {
    const open = newOpen();
    const record: RequestRecord = { last: undefined, open };
    const asked = search(record);
    const response = await arrivalOf(asked);
    expect(open.pending.has(asked)).toBe(true);
    expect(record.last).toEqual({ origin, status: undefined });
    response.writeHead(307, { location: "/elsewhere" }).end();
    const [answer] = (await once(asked, "response")) as [NodeJS.ReadableStream & { rawHeaders: string[] }];
    expect(record.last).toEqual({ origin, status: 307 });
    expect(answer.rawHeaders).toContain("x-location-not-followed");
    answer.resume();
    await closed(asked);
    expect(open.pending.size).toBe(0);
  });

  test("are not those of others", async () => {
    const record: RequestRecord = { last: undefined, open: newOpen() };
    recordRequests(record, () => undefined);
    const other = ask();
    (await arrivalOf(other)).writeHead(307, { location: "/elsewhere" }).end();
    const [answer] = (await once(other, "response")) as [NodeJS.ReadableStream & { rawHeaders: string[] }];
    expect(answer.rawHeaders).toContain("location");
    answer.resume();
    await closed(other);
    expect([record.last, record.open?.pending.size]).toEqual([undefined, 0]);
  });

  test("are told too without a set of open ones", async () => {
    const record: RequestRecord = { last: undefined };
    const asked = search(record);
    (await arrivalOf(asked)).end();
    await closed(asked.on("response", (answer: NodeJS.ReadableStream) => answer.resume()));
    expect(record.last).toEqual({ origin, status: 200 });
  });
});

describe("dropping the requests of a connection", () => {
  test("ends the open ones, and those that follow", async () => {
    const open = newOpen();
    const first = search({ last: undefined, open });
    await arrivalOf(first);
    dropRequests(open);
    await closed(first);
    expect([first.destroyed, open.dropped, open.pending.size]).toEqual([true, true, 0]);
    const second = search({ last: undefined, open });
    // Not while the request is being started.
    expect(second.destroyed).toBe(false);
    await closed(second);
    expect([second.destroyed, open.pending.size]).toEqual([true, 0]);
  });

  test("leaves those of another connection", async () => {
    const [one, other] = [newOpen(), newOpen()];
    const asked = search({ last: undefined, open: other });
    const response = await arrivalOf(asked);
    dropRequests(one);
    response.end();
    await closed(asked.on("response", (answer: NodeJS.ReadableStream) => answer.resume()));
    expect(asked.errored).toBeNull();
  });
});

test("a program of a search that cannot be started ends no process, and another one may", async () => {
  const listeners = (): number =>
    spawn("/there/is/no/such/program")
      .on("error", () => undefined)
      .listenerCount("error");
  const others = listeners();
  expect(recordRequests({ last: undefined }, listeners)).toBe(others + 1);
  await vi.waitFor(() => expect(listeners()).toBe(others));
});
