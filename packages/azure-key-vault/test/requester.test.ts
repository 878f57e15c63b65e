import { beforeEach, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { planOpening, readInstant, type Instant } from "@signpost/core/adapter";
import type { AzureKeyVaultHttpRequest, AzureKeyVaultHttpResponse } from "@signpost/azure-key-vault";
import type { OwnDispatcher } from "../src/own-dispatcher.ts";
import { createRequester, type Requester } from "../src/requester.ts";
import { parseVault } from "../src/vault.ts";

// Which dispatcher sends a request, and what it learns of a failure.

const own = vi.hoisted(() => ({
  request: vi.fn<(options: object) => Promise<unknown>>(),
  failed: vi.fn<(error: unknown, startedAt: Instant, signal: AbortSignal) => void>(),
  close: vi.fn<() => Promise<void>>(),
}));
vi.mock("../src/own-dispatcher.ts", () => ({ createOwnDispatcher: async () => own }));
beforeEach(() => void vi.resetAllMocks());

const { signal } = new AbortController();
const ANSWER: AzureKeyVaultHttpResponse = { statusCode: 200, headers: {}, body: [Buffer.from("{}")] };
const open = (dispatcher?: Pick<OwnDispatcher, "request">): Promise<Requester> =>
  createRequester(parseVault("vault", "op.vault.azure.net"), { dispatcher, tls: {} }, planOpening({}));
const send = (requester: Requester, ending = signal): Promise<unknown> =>
  requester.send({ method: "GET", path: "/keys/op" }, "token", ending);
const SENT = expect.objectContaining({
  origin: "https://op.vault.azure.net",
  path: "/keys/op",
  method: "GET",
}) as unknown;

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
  const request = vi.fn<(options: AzureKeyVaultHttpRequest) => Promise<AzureKeyVaultHttpResponse>>(async () => ANSWER);
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

test.each([
  ["of the client", Object.assign(new Error("cut"), { code: "ECONNRESET" })],
  ["of ours", new SignerError("integrity", "the answer is too long")],
])("an error %s is the error of its request", async (_whose, error) => {
  own.request.mockRejectedValue(error);
  expect(await send(await open()).catch((thrown: unknown) => thrown)).toBe(error);
});

test("a request that its signal ended says why, however the client reports it, unless the error is ours", async () => {
  const reason = new Error("gone");
  own.request.mockRejectedValue(new Error("aborted"));
  await expect(send(await open(), AbortSignal.abort(reason))).rejects.toMatchObject({ code: "aborted", cause: reason });
  const error = new SignerError("integrity", "the answer is too long");
  own.request.mockRejectedValue(error);
  expect(await send(await open(), AbortSignal.abort(reason)).catch((thrown: unknown) => thrown)).toBe(error);
});
