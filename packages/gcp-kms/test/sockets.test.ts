import { Agent as HttpAgent, createServer } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { GcpKmsClientLike } from "../src/api.ts";
import type { Connection } from "../src/connection.ts";
import { createSockets, useSockets, withLiveSockets } from "../src/sockets.ts";

describe("the connections of a signer over REST", () => {
  test("are kept for 20 s, and the most recent one is used first", () => {
    const sockets = createSockets();
    expect(sockets.idleMs).toBe(20_000);
    for (const protocol of ["http:", "https:"]) {
      expect(Reflect.get(sockets.agent({ protocol }), "options")).toMatchObject({
        keepAlive: true,
        timeout: 20_000,
        scheduling: "lifo",
      });
    }
    expect(createSockets(7).idleMs).toBe(7);
    expect(Reflect.get(createSockets(7).agent({ protocol: "http:" }), "options")).toMatchObject({ timeout: 7 });
  });

  test("are apart by protocol, and the same for every request", () => {
    const { agent } = createSockets();
    expect(agent({ protocol: "http:" })).toBeInstanceOf(HttpAgent);
    expect(agent({ protocol: "http:" })).not.toBeInstanceOf(HttpsAgent);
    expect(agent({ protocol: "https:" })).toBeInstanceOf(HttpsAgent);
    expect(agent({ protocol: "http:" })).toBe(agent({ protocol: "http:" }));
  });

  test("are closed on both protocols", () => {
    const { agent, close } = createSockets();
    const closed = ["http:", "https:"].map((protocol) => vi.spyOn(agent({ protocol }), "destroy"));
    close();
    for (const destroy of closed) expect(destroy).toHaveBeenCalledOnce();
  });

  test("that are idle are closed, and others stay", () => {
    const { agent, dropIdle } = createSockets();
    const socketsOf = (protocol: string): { idle: { destroy: unknown }; busy: { destroy: unknown } } => {
      const [idle, busy] = [{ destroy: vi.fn<() => void>() }, { destroy: vi.fn<() => void>() }];
      Object.assign(agent({ protocol }), {
        freeSockets: { "a:1:": [idle], "b:1:": undefined },
        sockets: { "a:1:": [busy] },
      });
      return { idle, busy };
    };
    const all = ["http:", "https:"].map(socketsOf);
    dropIdle();
    for (const { idle, busy } of all) {
      expect(idle.destroy).toHaveBeenCalledOnce();
      expect(busy.destroy).not.toHaveBeenCalled();
    }
  });
});

describe("a client", () => {
  const refuse = async (): Promise<never> => Promise.reject(new Error("not of this test"));
  const clientWith = (auth: object | undefined): GcpKmsClientLike => ({
    auth: auth as GcpKmsClientLike["auth"],
    initialize: refuse,
    getPublicKey: refuse,
    asymmetricSign: refuse,
    getCryptoKeyVersion: refuse,
    listCryptoKeyVersions: refuse,
    close: refuse,
  });

  test("sends each request through these connections and follows no redirect", () => {
    const sockets = createSockets();
    const fetch = vi.fn<(url: unknown, init: object) => string>(() => "answer");
    const auth = { fetch };
    useSockets(clientWith(auth), sockets);
    expect(auth.fetch("https://kms.example/v1", { method: "POST", redirect: "follow" })).toBe("answer");
    expect(fetch.mock.calls).toEqual([
      ["https://kms.example/v1", { method: "POST", redirect: "manual", agent: sockets.agent }],
    ]);
    expect(fetch.mock.contexts).toEqual([auth]);
  });

  test("that takes over the credentials of another keeps the connections of those", () => {
    const fetch = vi.fn<(url: unknown, init: object) => void>();
    const auth = { fetch };
    const [first, second] = [createSockets(), createSockets()];
    useSockets(clientWith(auth), first);
    const once_ = auth.fetch;
    useSockets(clientWith(auth), second);
    expect(auth.fetch).toBe(once_);
    auth.fetch("https://kms.example/v1", {});
    expect(fetch.mock.calls).toMatchObject([[expect.anything(), { agent: first.agent }]]);
  });

  test.each([[undefined], [{}], [{ fetch: "no function" }]])("with auth %j stays as it is", (auth) => {
    const before = { ...auth };
    expect(() => useSockets(clientWith(auth), createSockets())).not.toThrow();
    expect({ ...auth }).toEqual(before);
  });
});

describe("idle connections are dropped", () => {
  /** Both clocks. Milliseconds. */
  let now = 0;
  beforeEach(() => {
    now = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    vi.spyOn(Date, "now").mockImplementation(() => now);
  });
  afterEach(() => void vi.restoreAllMocks());

  const SUBJECT = { action: "read", name: "v" };
  const live = (
    call: () => Promise<unknown> = async () => "answer",
  ): { connection: Connection; dropped: () => number; closed: () => number } => {
    let [dropped, closed] = [0, 0];
    const inner: Connection = {
      call: async <Answer>(): Promise<Answer> => (await call()) as Answer,
      trouble: () => undefined,
      close: async () => void (closed += 1),
    };
    const connection = withLiveSockets(inner, { idleMs: 20_000, dropIdle: () => void (dropped += 1) });
    return { connection, dropped: () => dropped, closed: () => closed };
  };
  const ask = (connection: Connection, signal = new AbortController().signal): Promise<unknown> =>
    connection.call({ timeoutMs: 1000, signal }, SUBJECT, async () => "not called");

  test("after 20 s without a call, before the next one, and not sooner", async () => {
    const { connection, dropped } = live();
    now += 19_999;
    expect(await ask(connection)).toBe("answer");
    now += 19_999;
    await ask(connection);
    expect(dropped()).toBe(0);
    now += 20_000;
    await ask(connection);
    expect(dropped()).toBe(1);
    await ask(connection);
    expect(dropped()).toBe(1);
  });

  test("since their last use, which a call that was aborted is not", async () => {
    const { connection, dropped } = live();
    now += 19_000;
    await ask(connection, AbortSignal.abort(new Error("gone")));
    now += 1000;
    await ask(connection);
    expect(dropped()).toBe(1);
  });

  test.each<[what: string, reason: unknown, times: number]>([
    ["ran out of time", new SignerError("timeout", "no answer in time"), 1],
    ["was ended by its caller", new Error("gone"), 0],
  ])("as soon as the time of a call is over, if it %s", async (_what, reason, times) => {
    let finish = (): void => undefined;
    const { connection, dropped } = live(() => new Promise<void>((resolve) => (finish = resolve)));
    const caller = new AbortController();
    const call = ask(connection, caller.signal);
    caller.abort(reason);
    expect(dropped()).toBe(times);
    finish();
    await call;
    expect(dropped()).toBe(times);
  });

  test("not by the end of a signal after its call", async () => {
    const { connection, dropped } = live();
    const caller = new AbortController();
    await ask(connection, caller.signal);
    caller.abort(new SignerError("timeout", "no answer in time"));
    expect(dropped()).toBe(0);
  });

  test.each<[error: Error, times: number]>([
    [Object.assign(new Error("cut"), { code: "ECONNRESET" }), 1],
    [new Error("failed", { cause: Object.assign(new Error("cut"), { code: "EPIPE" }) }), 1],
    [new SignerError("timeout", "credentials did not arrive"), 1],
    [new SignerError("access_denied", "no"), 0],
    [Object.assign(new Error("7 PERMISSION_DENIED"), { code: 7 }), 0],
  ])("after %s: %d times", async (error, times) => {
    const { connection, dropped } = live(async () => {
      throw error;
    });
    await expect(ask(connection)).rejects.toBe(error);
    expect(dropped()).toBe(times);
  });

  test("without an end of the connection, which closes on its own", async () => {
    const { connection, dropped, closed } = live();
    await connection.close();
    expect([dropped(), closed()]).toEqual([0, 1]);
  });
});

test("a connection that was dropped while idle is not used for the next request", async () => {
  const server = createServer((request, response) => void request.resume().on("end", () => response.end("ok")));
  await once(server.listen(0, "127.0.0.1"), "listening");
  let connections = 0;
  server.on("connection", () => (connections += 1));
  const sockets = createSockets();
  const { port } = server.address() as AddressInfo;
  const get = async (): Promise<void> => {
    const { request } = await import("node:http");
    const asked = request({ host: "127.0.0.1", port, agent: sockets.agent({ protocol: "http:" }) }).end();
    const [response] = (await once(asked, "response")) as [NodeJS.ReadableStream];
    await once(response.resume(), "end");
    await new Promise((resolve) => void setImmediate(resolve));
  };
  await get();
  await get();
  expect(connections).toBe(1);
  sockets.dropIdle();
  await get();
  expect(connections).toBe(2);
  sockets.close();
  server.close();
});
