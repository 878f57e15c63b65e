import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Address, Connection } from "../../src/check/probe/connect.ts";
import { get } from "../../src/check/probe/requests.ts";
import { send } from "../../src/check/probe/send.ts";
import type { Sending } from "../../src/check/probe/send.ts";
import { PrivateHostError, publicLookup } from "../../src/network/private-host.ts";

// Where a request is sent, and what is said of a connection that fails.

const network = vi.hoisted(() => ({
  asked: [] as { url: URL; address: Address; signal: AbortSignal }[],
  open: (): Promise<Connection> => Promise.reject(new Error("no network")),
}));
vi.mock("../../src/check/probe/connect.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  connect: (url: URL, address: Address, signal: AbortSignal) => {
    network.asked.push({ url, address, signal });
    return network.open();
  },
}));
beforeEach(() => {
  network.asked.length = 0;
  network.open = () => Promise.reject(coded("ECONNREFUSED"));
});

const SENDING: Sending = {
  timeoutMs: 60_000,
  maxBytes: 1000,
  signal: new AbortController().signal,
  isPublicOnly: false,
};

function coded(code: unknown): Error {
  return Object.assign(new Error("with what was sent"), { code });
}

/** The end of a request whose connection fails with an error. */
async function failing(error: unknown, sending: Partial<Sending> = {}) {
  network.open = () => {
    throw error;
  };
  const { exchange, isPrivate } = await send(get("https://op.example/jwks"), { ...SENDING, ...sending });
  if (exchange.kind === "answer") throw new TypeError("there was an answer");
  return [exchange.reason, exchange.detail, isPrivate];
}

describe("a connection goes", () => {
  test.each<[url: string, host: string, port: number]>([
    ["https://op.example/jwks", "op.example", 443],
    ["http://op.example/jwks", "op.example", 80],
    ["https://op.example:80/jwks", "op.example", 80],
    ["http://op.example:8080/jwks", "op.example", 8080],
    ["https://[2606:4700::1111]/jwks", "2606:4700::1111", 443],
  ])("for %s to %s on port %i", async (url, host, port) => {
    await send(get(url), SENDING);
    expect(network.asked.map((one) => [one.url.href, one.address])).toEqual([[url, { host, port }]]);
  });

  test("to the address that the caller names", async () => {
    const address = { host: "10.0.0.7", port: 8443 };
    await send(get("https://op.example/jwks"), { ...SENDING, address });
    expect(network.asked.map((one) => one.address)).toEqual([address]);
  });

  test("only to addresses on the Internet, if the caller says so", async () => {
    const only = { ...SENDING, isPublicOnly: true };
    await send(get("https://op.example/jwks"), only);
    await send(get("https://1.1.1.1/jwks"), only);
    expect(network.asked.map(({ address }) => [address.host, address.lookup === publicLookup])).toEqual([
      ["op.example", true],
      ["1.1.1.1", true],
    ]);
    const { exchange } = await send(get("https://10.0.0.7/jwks"), only);
    expect(exchange).toMatchObject({ kind: "no-answer", reason: "not-allowed" });
    expect(network.asked).toHaveLength(2);
  });
});

describe("a connection that fails", () => {
  test.each<[error: unknown, reason: string, detail: string]>([
    [coded("ENOTFOUND"), "name", "ENOTFOUND"],
    [coded("EAI_AGAIN"), "name", "EAI_AGAIN"],
    [coded("XENOTFOUND"), "connection", "XENOTFOUND"],
    [coded("HPE_INVALID_CONSTANT"), "not-http", "HPE_INVALID_CONSTANT"],
    [coded("XHPE_"), "connection", "XHPE_"],
    [coded("ERR_SSL_WRONG_VERSION_NUMBER"), "tls", "ERR_SSL_WRONG_VERSION_NUMBER"],
    [coded("ERR_TLS_HANDSHAKE_TIMEOUT"), "tls", "ERR_TLS_HANDSHAKE_TIMEOUT"],
    [coded("EPROTO"), "tls", "EPROTO"],
    [coded("X_EPROTO"), "connection", "X_EPROTO"],
    [coded("ECONNREFUSED"), "connection", "ECONNREFUSED"],
    [new AggregateError([coded("ENOTFOUND"), coded("ECONNREFUSED")]), "name", "ENOTFOUND"],
    [new AggregateError([]), "connection", "unknown"],
    [new Error("closed"), "connection", "closed"],
    [coded(7), "connection", "closed"],
    ["text", "connection", "unknown"],
    [null, "connection", "unknown"],
  ])("with %o has the reason %s, and the detail %s", async (error, reason, detail) => {
    expect(await failing(error)).toEqual([reason, detail, false]);
  });

  test("because its address is private was not allowed", async () => {
    const error = new PrivateHostError();
    expect(await failing(error)).toEqual(["not-allowed", error.message, false]);
  });

  test("after its time is told with that time", async () => {
    network.open = () =>
      new Promise((_, reject) => {
        const signal = network.asked.at(-1)?.signal;
        signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
    const { exchange } = await send(get("https://op.example/jwks"), { ...SENDING, timeoutMs: 20 });
    expect(exchange).toMatchObject({ kind: "no-answer", reason: "time", detail: "0.02 s" });
  });

  test("because the command ends is no answer of the host", async () => {
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(send(get("https://op.example/jwks"), { ...SENDING, signal })).rejects.toThrow("stopped");
  });
});

describe("a connection that is open", () => {
  /** A connection that nothing comes from, to an address. */
  function openTo(remoteAddress: string | undefined): { readonly destroyed: () => number } {
    let destroyed = 0;
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroy: () => void (destroyed += 1) });
    network.open = async () => ({ socket, tls: undefined }) as unknown as Connection;
    return { destroyed: () => destroyed };
  }

  test("and was reset meanwhile has no address", async () => {
    const { destroyed } = openTo(undefined);
    const { exchange } = await send(get("https://op.example/jwks"), SENDING);
    expect(exchange).toMatchObject({ reason: "connection", detail: "ECONNRESET" });
    expect(destroyed()).toBe(1);
  });

  test("to a private address is left, if only the Internet is allowed", async () => {
    const { destroyed } = openTo("10.0.0.7");
    const sent = await send(get("https://op.example/jwks"), { ...SENDING, isPublicOnly: true });
    expect(sent).toMatchObject({ exchange: { reason: "not-allowed" }, isPrivate: false });
    expect(destroyed()).toBe(1);
  });
});
