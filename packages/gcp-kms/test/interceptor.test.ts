import { describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { GcpKmsGrpcCall } from "../src/api.ts";
import { cancelledWith } from "../src/interceptor.ts";

/** A call of grpc-js, and what was asked of it. */
function started(caller: AbortController): {
  readonly call: GcpKmsGrpcCall;
  readonly start: ReturnType<typeof vi.fn<(options: object) => GcpKmsGrpcCall>>;
  readonly cancel: ReturnType<typeof vi.fn<GcpKmsGrpcCall["cancelWithStatus"]>>;
  readonly intercept: (options: object) => GcpKmsGrpcCall;
} {
  const cancel = vi.fn<GcpKmsGrpcCall["cancelWithStatus"]>();
  const call: GcpKmsGrpcCall = { cancelWithStatus: cancel };
  const start = vi.fn<(options: object) => GcpKmsGrpcCall>(() => call);
  const interceptor = cancelledWith({ timeoutMs: 1000, signal: caller.signal });
  return { call, start, cancel, intercept: (options) => interceptor(options, start) };
}

describe("a call of grpc-js", () => {
  test("is started with its options, and is returned as it is", () => {
    const { call, start, cancel, intercept } = started(new AbortController());
    const options = {};
    expect(intercept(options)).toBe(call);
    expect(start.mock.calls[0]?.[0]).toBe(options);
    expect(cancel).not.toHaveBeenCalled();
  });

  test("is cancelled once, when its signal aborts", () => {
    const caller = new AbortController();
    const { cancel, intercept } = started(caller);
    intercept({});
    caller.abort();
    expect(cancel.mock.calls).toEqual([[1, "the call was aborted"]]);
  });

  test("is not started after its signal has aborted", () => {
    const caller = new AbortController();
    const { start, intercept } = started(caller);
    const reason = new SignerError("timeout", "too late");
    caller.abort(reason);
    expect(() => intercept({})).toThrow(reason);
    expect(start).not.toHaveBeenCalled();
  });
});
