import type { ServerUnaryCall } from "@grpc/grpc-js";
import { SignerError } from "@signpost/core";

/** Timers of Node take no more. */
const MAX_TIMER_MS = 2_147_483_647;

/** Works with a signal that aborts when the client cancels its call, or when its deadline passes. */
export async function untilEnded<Result>(
  call: Pick<ServerUnaryCall<unknown, unknown>, "cancelled" | "getDeadline" | "once" | "off">,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const leftMs = Number(call.getDeadline()) - Date.now();
  // A deadline of infinity means that the client has none.
  const timer = leftMs <= MAX_TIMER_MS ? setTimeout(abort, Math.max(0, leftMs)) : undefined;
  if (call.cancelled) abort();
  call.once("cancelled", abort);
  try {
    if (controller.signal.aborted) throw new SignerError("aborted", "the client cancelled the call");
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    call.off("cancelled", abort);
  }
}
