import { beforeEach, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { planOpening, readInstant, type Instant } from "@signpost/core/adapter";
import type { VaultTransitHttpRequest, VaultTransitHttpResponse } from "@signpost/vault-transit";
import { readConnectionOptions } from "../src/client.ts";
import type { OwnDispatcher } from "../src/own-dispatcher.ts";
import { createRequester, type Requester } from "../src/requester.ts";

// Which dispatcher sends a request, and what it learns of a failure.

const own = vi.hoisted(() => ({
  request: vi.fn<(options: object) => Promise<unknown>>(),
  failed: vi.fn<(error: unknown, startedAt: Instant, signal: AbortSignal) => void>(),
  close: vi.fn<() => Promise<void>>(),
}));
vi.mock("../src/own-dispatcher.ts", () => ({ createOwnDispatcher: async () => own }));
beforeEach(() => void vi.resetAllMocks());

const { signal } = new AbortController();
const ANSWER: VaultTransitHttpResponse = { statusCode: 200, headers: {}, body: [Buffer.from("{}")] };
const ADDRESS = "https://vault.example:8200";
const open = (dispatcher?: Pick<OwnDispatcher, "request">): Promise<Requester> => {
  const options = { address: ADDRESS, namespace: "team", auth: { method: "none" }, dispatcher } as const;
  return createRequester(readConnectionOptions(options), planOpening({}));
};
const TARGET = { action: "read op", address: ADDRESS, namespace: "team" };
const WHERE = "cannot read op at https://vault.example:8200 in the namespace team";
const send = (requester: Requester, ending = signal): Promise<unknown> =>
  requester.send(TARGET, { method: "GET", path: "transit/keys/op" }, "token", ending);
const SENT = expect.objectContaining({ origin: ADDRESS, path: "/v1/transit/keys/op", method: "GET" }) as unknown;

test("the dispatcher that the adapter made sends a request, and is closed", async () => {
  own.request.mockResolvedValue(ANSWER);
  const requester = await open();
  expect(await send(requester)).toMatchObject({ status: 200 });
  expect(own.request.mock.calls).toEqual([[SENT]]);
  expect(own.failed).not.toHaveBeenCalled();
  await requester.close();
  expect(own.close).toHaveBeenCalledTimes(1);
});

test("the dispatcher of the caller sends a request, and stays open", async () => {
  const request = vi.fn<(options: VaultTransitHttpRequest) => Promise<VaultTransitHttpResponse>>(async () => ANSWER);
  const requester = await open({ request });
  expect(await send(requester)).toMatchObject({ status: 200 });
  await requester.close();
  expect(request.mock.calls).toEqual([[SENT]]);
  expect([own.request.mock.calls, own.close.mock.calls]).toEqual([[], []]);
});

test("a failure is told to the dispatcher that the adapter made, with the time of its request", async () => {
  const error = Object.assign(new Error("cut"), { code: "ECONNRESET" });
  const before = readInstant();
  own.request.mockImplementation(async () => {
    expect(own.failed).not.toHaveBeenCalled();
    throw error;
  });
  await expect(send(await open())).rejects.toBeDefined();
  expect(own.failed).toHaveBeenCalledTimes(1);
  const [given, startedAt, ending] = own.failed.mock.calls[0] ?? [];
  expect([given, ending]).toEqual([error, signal]);
  expect(startedAt?.monotonic).toBeGreaterThanOrEqual(before.monotonic);
});

test("an error of the client becomes ours, without what was sent", async () => {
  own.request.mockRejectedValue(Object.assign(new Error("about token"), { code: "ECONNRESET" }));
  const error: unknown = await send(await open()).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "unavailable", message: `${WHERE}: the connection was cut (ECONNRESET)` });
  expect(String(Reflect.get(Object(Reflect.get(Object(error), "cause")), "message"))).not.toContain("token");
});

test("an error of ours gets the name of the call, and keeps the rest", async () => {
  const cause = new Error("x");
  own.request.mockRejectedValue(new SignerError("integrity", "the answer was cut off", { cause, transient: true }));
  await expect(send(await open())).rejects.toMatchObject({
    code: "integrity",
    message: `${WHERE}: the answer was cut off`,
    cause,
    transient: true,
  });
});

test("a request that its signal ended says why, however it is reported", async () => {
  const reason = new Error("gone");
  for (const error of [new Error("aborted"), new SignerError("integrity", "the answer was cut off")]) {
    own.request.mockRejectedValue(error);
    const ended = send(await open(), AbortSignal.abort(reason));
    await expect(ended).rejects.toMatchObject({ code: "aborted", cause: reason });
  }
});

test("it names its address and its namespace", async () => {
  expect(await open()).toMatchObject({ address: ADDRESS, namespace: "team" });
});
