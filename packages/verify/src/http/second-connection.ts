import { setTimeout as pause } from "node:timers/promises";

/** A server answers sooner, even on a new connection. */
const SILENCE_MS = 500;

/** Two kept connections may be dead: that of a set, and that of the discovery document from the same host. */
const MAX_REQUESTS = 3;

/**
 * Sends a request, and after a silence sends it again. A request that waits occupies its connection, so the next one gets another.
 * The first answer counts, and the other requests are aborted.
 */
export async function onSecondConnection<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  requests: number = MAX_REQUESTS,
): Promise<T> {
  if (requests === 1) return ask(signal);
  const [first, second] = [new AbortController(), new AbortController()];
  const original = ask(AbortSignal.any([signal, first.signal]));
  if (!(await isSilent(original, signal))) return original;
  const again = onSecondConnection(ask, AbortSignal.any([signal, second.signal]), requests - 1);
  try {
    const { answer, other } = await Promise.any([
      original.then((answer) => ({ answer, other: second })),
      again.then((answer) => ({ answer, other: first })),
    ]);
    other.abort();
    return answer;
  } catch {
    // All failed.
    return original;
  }
}

async function isSilent(request: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const settled = new AbortController();
  const settle = (): void => settled.abort();
  request.then(settle, settle);
  return pause(SILENCE_MS, true, { signal: AbortSignal.any([signal, settled.signal]) }).catch(() => false);
}
