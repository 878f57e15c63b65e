import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import {
  collectResponse,
  type DispatchControllerLike,
  type DispatcherLike,
  type HttpRequest,
  type ResponseHandlerLike,
} from "@signpost/core/adapter";

const REQUEST = { origin: "https://kms.example", path: "/keys/op", method: "GET", headers: { accept: "a/b" } } as const;

/** A dispatcher whose requests the test answers. */
function scripted(): {
  readonly dispatcher: DispatcherLike;
  readonly requests: HttpRequest[];
  readonly handler: () => ResponseHandlerLike;
  readonly controller: DispatchControllerLike;
  readonly aborted: Error[];
} {
  const requests: HttpRequest[] = [];
  const aborted: Error[] = [];
  let handler: ResponseHandlerLike | undefined;
  return {
    dispatcher: {
      dispatch: (request, given) => {
        requests.push(request);
        handler = given;
      },
    },
    requests,
    handler: () => {
      if (handler === undefined) throw new Error("there was no request");
      return handler;
    },
    controller: { abort: (reason) => void aborted.push(reason) },
    aborted,
  };
}

const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(length);

test("a response is its status, its headers and its parts in order, and no listener stays", async () => {
  const { dispatcher, requests, handler, controller, aborted } = scripted();
  const { signal } = new AbortController();
  const response = collectResponse(dispatcher, { ...REQUEST, body: "text", signal }, 10);
  expect(requests).toEqual([{ ...REQUEST, body: "text" }]);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  handler().onRequestStart(controller);
  handler().onResponseStart(controller, 418, { "x-answer": "yes" });
  handler().onResponseData(controller, bytes(3));
  handler().onResponseData(controller, bytes(7));
  handler().onResponseEnd();
  expect(await response).toEqual({ statusCode: 418, headers: { "x-answer": "yes" }, body: [bytes(3), bytes(7)] });
  expect(aborted).toEqual([]);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a response that is one byte too long is not read further", async () => {
  const { dispatcher, handler, controller, aborted } = scripted();
  const { signal } = new AbortController();
  const response = collectResponse(dispatcher, { ...REQUEST, signal }, 10);
  handler().onRequestStart(controller);
  handler().onResponseStart(controller, 200, {});
  handler().onResponseData(controller, bytes(10));
  expect(aborted).toEqual([]);
  handler().onResponseData(controller, bytes(1));
  expect((await response).body).toEqual([bytes(10), bytes(1)]);
  expect(aborted).toEqual([new Error("the response is too long")]);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a request that fails rejects with the dispatcher's error", async () => {
  const { dispatcher, handler, controller } = scripted();
  const { signal } = new AbortController();
  const response = collectResponse(dispatcher, { ...REQUEST, signal }, 10);
  const error = new Error("cut");
  handler().onResponseError(controller, error);
  await expect(response).rejects.toBe(error);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("an abort ends the request, and rejects at once", async () => {
  const { dispatcher, handler, controller, aborted } = scripted();
  const caller = new AbortController();
  const response = collectResponse(dispatcher, { ...REQUEST, signal: caller.signal }, 10);
  handler().onRequestStart(controller);
  const reason = new Error("gone");
  caller.abort(reason);
  await expect(response).rejects.toMatchObject({ name: "SignerError", code: "aborted", cause: reason });
  expect(aborted).toMatchObject([{ code: "aborted", cause: reason }]);
});

test("an abort while it waits for a connection rejects at once, and the request is never sent", async () => {
  const { dispatcher, handler, controller, aborted } = scripted();
  const caller = new AbortController();
  const response = collectResponse(dispatcher, { ...REQUEST, signal: caller.signal }, 10);
  caller.abort(new SignerError("timeout", "no answer in time"));
  await expect(response).rejects.toMatchObject({ code: "timeout" });
  expect(aborted).toEqual([]);
  handler().onRequestStart(controller);
  expect(aborted).toMatchObject([{ code: "timeout" }]);
});

test("a signal that has aborted makes no request", async () => {
  const { dispatcher, requests } = scripted();
  const response = collectResponse(dispatcher, { ...REQUEST, signal: AbortSignal.abort(new Error("gone")) }, 10);
  await expect(response).rejects.toMatchObject({ code: "aborted" });
  expect(requests).toEqual([]);
});
