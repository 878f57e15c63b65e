import { endedError, hasCallEnded, onCallEnd, type CallBounds } from "@signpost/core/adapter";
import type { GcpKmsInterceptor } from "./api.ts";

/** The status CANCELLED of gRPC. */
const CANCELLED = 1;

/**
 * An interceptor of grpc-js that cancels its call at the end of the bounds. A call with an AbortSignal takes longer than the
 * checks of its answer, and 5.x ignores the signal.
 */
export function cancelledWith(bounds: CallBounds): GcpKmsInterceptor {
  return (options, start) => {
    // Nothing is sent. The client rejects with this error.
    if (hasCallEnded(bounds)) throw endedError(bounds.signal.reason);
    const call = start(options);
    // Not removed: the bounds are those of one call, and to cancel it after its end does nothing.
    onCallEnd(bounds, () => call.cancelWithStatus(CANCELLED, "the call was aborted"));
    return call;
  };
}
