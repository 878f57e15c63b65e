import { once } from "node:events";
import { Agent, createServer, type ServerResponse } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { exchange, type Post, type Target } from "../../src/https/exchange.ts";

const POST: Post = { headers: {}, body: "question", signal: undefined };
/** Answers when it is told. */
const server = createServer();
/** Accepts connections and stays silent. */
const silent = createTcpServer();
await Promise.all([server, silent].map((each) => once(each.listen(0, "127.0.0.1"), "listening")));
const portOf = (of: typeof silent): number => (of.address() as AddressInfo).port;
const agent = new Agent({ keepAlive: true });

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());
afterAll(() => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
  silent.close();
});

const target = (others: Partial<Target> = {}): Target => ({
  plaintext: true,
  hostname: "127.0.0.1",
  port: portOf(server),
  path: "/",
  agent,
  timeoutMs: 1001,
  ...others,
});
const arrival = async (): Promise<ServerResponse> => (await once(server, "request"))[1] as ServerResponse;
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("an exchange", () => {
  test("that has a connection may take all of its time, and leaves no timer", async () => {
    const answered = exchange(target(), POST);
    const response = await arrival();
    await vi.advanceTimersByTimeAsync(1000);
    response.end("answer");
    expect((await answered).body.toString()).toBe("answer");
    expect(vi.getTimerCount()).toBe(0);
    // The connection that is there already is not waited for.
    const second = exchange(target(), POST);
    const next = await arrival();
    expect(vi.getTimerCount()).toBe(1);
    next.end();
    await second;
  });

  test("that takes longer is ended, and leaves no timer", async () => {
    const failure = rejection(exchange(target(), POST));
    const response = await arrival();
    const closed = once(response, "close");
    await vi.advanceTimersByTimeAsync(1001);
    expect(await failure).toMatchObject({ code: "ETIMEDOUT", message: "no answer within 1001 ms" });
    expect(vi.getTimerCount()).toBe(0);
    await closed;
  });

  test("over TLS waits half of its time for a connection, rounded up", async () => {
    const own = new HttpsAgent();
    const accepted = once(silent, "connection");
    const failure = rejection(exchange(target({ plaintext: false, port: portOf(silent), agent: own }), POST));
    let isOver = false;
    void failure.then(() => (isOver = true));
    const [socket] = (await accepted) as [Socket];
    socket.on("error", () => undefined);
    await vi.advanceTimersByTimeAsync(500);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await failure).toMatchObject({ code: "ETIMEDOUT", message: "no connection within 501 ms" });
    expect(vi.getTimerCount()).toBe(0);
    own.destroy();
    socket.destroy();
  });

  test("whose answer is cut, or whose caller gives up, leaves no timer", async () => {
    const cut = rejection(exchange(target(), POST));
    (await arrival()).destroy();
    expect(await cut).toMatchObject({ code: "ECONNRESET" });
    const caller = new AbortController();
    const given = rejection(exchange(target(), { ...POST, signal: caller.signal }));
    await arrival();
    caller.abort(new Error("enough"));
    expect(await given).toMatchObject({ message: "enough" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("an agent that makes no connection", () => {
  const refusing = (reason: unknown): Agent =>
    Object.assign(new Agent(), {
      createConnection: (_options: unknown, made: (error: unknown) => void) => made(reason),
    });

  test.each<[what: string, reason: unknown, expected: object]>([
    ["with a code keeps it", Object.assign(new Error("no"), { code: "EPROXY" }), { code: "EPROXY", message: "no" }],
    ["without a code has one", new Error("503"), { code: "ENOTCONN", message: "no connection: 503" }],
    ["with a number has one", Object.assign(new Error("503"), { code: 503 }), { code: "ENOTCONN" }],
    ["with a text has one", "503", { code: "ENOTCONN", message: "no connection: 503", cause: "503" }],
  ])("%s", async (_what, reason, expected) => {
    const error = await rejection(exchange(target({ agent: refusing(reason) }), POST));
    expect(error).toMatchObject(expected);
    expect(error === reason).toBe(Reflect.get(expected, "code") === "EPROXY");
    expect(vi.getTimerCount()).toBe(0);
  });
});
