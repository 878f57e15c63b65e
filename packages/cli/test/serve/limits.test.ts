import { EventEmitter } from "node:events";
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { ListenOptions, Socket } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { createConnections } from "../../src/serve/http/connections.ts";
import { listen } from "../../src/serve/http/listener.ts";

// The limits of a server, and whom it lets go when it is full.

const opened = vi.hoisted(() => [] as { options: ServerOptions; server: Server; listening: unknown }[]);

vi.mock("node:http", async (importOriginal) => {
  const http = await importOriginal<typeof import("node:http")>();
  const createServer = (options: ServerOptions, answer: () => void): Server => {
    const server = http.createServer(options, answer);
    const original = server.listen.bind(server) as (given: ListenOptions) => Server;
    const entry = { options, server, listening: undefined as unknown };
    server.listen = ((given: ListenOptions) => {
      entry.listening = given;
      return original(given);
    }) as never;
    opened.push(entry);
    return server;
  };
  return { ...http, createServer };
});

test("a server has limits for headers, requests, silence and connections that wait", async () => {
  const nothing = (): void => undefined;
  const { close } = await listen({
    place: { host: "127.0.0.1", port: 0, flags: { host: "--host", port: "--port" } },
    maxConnections: 10,
    answer: nothing,
    onRefused: nothing,
    onEvicted: nothing,
    onFailed: nothing,
  });
  const [{ options, server, listening } = { options: {}, server: undefined, listening: undefined }] = opened;
  expect(options).toEqual({
    maxHeaderSize: 8192,
    headersTimeout: 5000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 1000,
  });
  expect(server?.timeout).toBe(15_000);
  expect(listening).toEqual({ host: "127.0.0.1", port: 0, backlog: 4096 });
  await close(1000);
});

describe("a server that hears of a mistake of a client", () => {
  test.each<[code: string | undefined, isWritable: boolean, reason: string | undefined, status: string]>([
    ["ERR_HTTP_REQUEST_TIMEOUT", true, "timeout", "408 Request Timeout"],
    ["HPE_HEADER_OVERFLOW", true, "too_large", "431 Request Header Fields Too Large"],
    ["HPE_CHUNK_EXTENSIONS_OVERFLOW", true, "too_large", "431 Request Header Fields Too Large"],
    ["HPE_INVALID_METHOD", true, "malformed", "400 Bad Request"],
    ["HPE_INVALID_METHOD", false, undefined, ""],
    ["X_HPE_", true, undefined, ""],
    ["ECONNRESET", true, undefined, ""],
    [undefined, true, undefined, ""],
  ])("%s, on a connection that can be written to (%s), counts %s", async (code, isWritable, reason, status) => {
    const refused: string[] = [];
    const nothing = (): void => undefined;
    const { close } = await listen({
      place: { host: "127.0.0.1", port: 0, flags: { host: "--host", port: "--port" } },
      maxConnections: 10,
      answer: nothing,
      onRefused: (why) => void refused.push(why),
      onEvicted: nothing,
      onFailed: nothing,
    });
    const socket = new FakeSocket();
    socket.writable = isWritable;
    const error = Object.assign(new Error("it failed"), { code });
    opened.at(-1)?.server.emit("clientError", error, socket as unknown as Socket);
    expect(refused).toEqual(reason === undefined ? [] : [reason]);
    expect(socket.destroyed).toBe(reason === undefined);
    expect(socket.written).toEqual(
      reason === undefined ? [] : [`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`],
    );
    await close(0);
  });
});

class FakeSocket extends EventEmitter {
  bytesRead = 0;
  destroyed = false;
  writable = true;
  readonly written: string[] = [];
  ended = 0;

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }

  write(bytes: string): void {
    this.written.push(bytes);
  }

  destroySoon(): void {
    this.ended += 1;
  }
}

function started(max: number) {
  const counts = { evicted: 0, floods: 0 };
  const connections = createConnections(
    max,
    () => void (counts.evicted += 1),
    () => void (counts.floods += 1),
  );
  const connect = (): FakeSocket => {
    const socket = new FakeSocket();
    connections.add(socket as unknown as Socket);
    return socket;
  };
  const begin = (socket: FakeSocket): { accepted: boolean; end: () => void } => {
    const response = new EventEmitter();
    const accepted = connections.begin({ socket } as unknown as IncomingMessage, response as unknown as ServerResponse);
    return { accepted, end: () => void response.emit("close") };
  };
  const end = (socket: FakeSocket, bytes: string): void => connections.endWith(socket as unknown as Socket, bytes);
  return { connections, counts, connect, begin, end };
}

describe("connections", () => {
  test("are counted until they close", () => {
    const { connections, connect } = started(3);
    const [first] = [connect(), connect()];
    expect(connections.count()).toBe(2);
    first?.destroy();
    expect(connections.count()).toBe(1);
  });

  test("make room for a new one: the one that has been idle for longest goes", () => {
    const { connections, counts, connect, begin } = started(3);
    const [first, second, third] = [connect(), connect(), connect()];
    expect(counts.evicted).toBe(0);
    // The first one is asked, and waits again behind the others.
    begin(first).end();
    connect();
    expect([first.destroyed, second.destroyed, third.destroyed]).toEqual([false, true, false]);
    expect([connections.count(), counts.evicted]).toEqual([3, 1]);
  });

  test("with a response on its way stay, as long as others are idle", () => {
    const { counts, connect, begin } = started(2);
    const [busy, idle] = [connect(), connect()];
    begin(busy);
    connect();
    expect([busy.destroyed, idle.destroyed]).toEqual([false, true]);
    expect(counts.evicted).toBe(1);
  });

  test("that are all busy lose the oldest one", () => {
    const { connect, begin } = started(2);
    const [first, second] = [connect(), connect()];
    for (const socket of [second, first]) begin(socket);
    connect();
    expect([first.destroyed, second.destroyed]).toEqual([true, false]);
  });

  test("have up to a hundred requests at a time, and end with one more", () => {
    const { counts, connect, begin } = started(2);
    const socket = connect();
    const requests = Array.from({ length: 100 }, () => begin(socket));
    expect(requests.every(({ accepted }) => accepted)).toBe(true);
    requests[0]?.end();
    expect(begin(socket).accepted).toBe(true);
    expect([counts.floods, socket.destroyed]).toEqual([0, false]);
    expect(begin(socket).accepted).toBe(false);
    expect([counts.floods, socket.destroyed]).toEqual([1, true]);
  });

  test("that are gone are not answered", () => {
    const { connect, begin } = started(2);
    const socket = connect();
    socket.destroy();
    expect(begin(socket).accepted).toBe(false);
    expect(begin(new FakeSocket()).accepted).toBe(false);
  });

  test("end with their last bytes after the responses that are on their way", () => {
    const { connect, begin, end } = started(2);
    const socket = connect();
    const [first, second] = [begin(socket), begin(socket)];
    end(socket, "last");
    first.end();
    expect([socket.written, socket.ended]).toEqual([[], 0]);
    second.end();
    expect([socket.written, socket.ended]).toEqual([["last"], 1]);
  });

  test("end at once if nothing is on its way, and write nothing to one that is closed", () => {
    const { connect, begin, end } = started(2);
    const [idle, closed] = [connect(), connect()];
    end(idle, "last");
    expect([idle.written, idle.ended]).toEqual([["last"], 1]);
    closed.writable = false;
    end(closed, "last");
    expect([closed.written, closed.ended]).toEqual([[], 1]);
    const unknown = new FakeSocket();
    end(unknown, "last");
    expect(unknown.written).toEqual(["last"]);
    // A response that is over ends nothing by itself.
    const kept = connect();
    begin(kept).end();
    expect(kept.ended).toBe(0);
  });

  test("that have sent nothing can be ended, and the others stay", () => {
    const { connections, connect, begin } = started(4);
    const [silent, heard, busy] = [connect(), connect(), connect()];
    heard.bytesRead = 1;
    begin(busy);
    connections.endSilent();
    expect([silent.destroyed, heard.destroyed, busy.destroyed]).toEqual([true, false, false]);
  });
});
