import { SignerError } from "@signpost/core";
import {
  createTrouble,
  elapsedMs,
  readInstant,
  untilAborted,
  withinDeadline,
  type Instant,
} from "@signpost/core/adapter";
import type { Credentials, WaitForToken } from "./credentials.ts";
import { lateMessage, readSecretFile } from "./secret-file.ts";

/** How long a token is used before its file is read again. Milliseconds. */
const FRESH_MS = 1000;
/** How long a call waits for the file while the last token may still be good. Milliseconds. */
const WAIT_MS = 500;

/** A file with a token, which another program renews and replaces. */
export function createTokenFile(path: string, wait: WaitForToken = untilAborted): Credentials {
  let known: { readonly token: string; readonly readAt: Instant } | undefined;
  const trouble = createTrouble("the token's file cannot be read");
  let reading: Promise<string> | undefined;
  /** A call has waited for this read already. The others do not. */
  let isLate = false;

  const readNow = async (): Promise<string> => {
    const readAt = readInstant();
    const token = await readSecretFile("auth.path", path);
    known = { token, readAt };
    isLate = false;
    trouble.ended();
    return token;
  };
  const read = (signal: AbortSignal): Promise<string> => {
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return wait(reading, signal);
  };
  const readSoon = async (signal: AbortSignal): Promise<string> => {
    const message = lateMessage("auth.path", path, WAIT_MS);
    return withinDeadline(() => read(signal), { deadlineMs: WAIT_MS, signal, message });
  };
  return {
    token: async (signal) => {
      if (known !== undefined && elapsedMs(known.readAt) < FRESH_MS) return known.token;
      if (known === undefined) return read(signal);
      if (isLate) {
        read(signal).catch(() => {});
        return known.token;
      }
      try {
        return await readSoon(signal);
      } catch (error) {
        if (signal.aborted) throw error;
        // The file is being replaced, or its mount hangs. The token that was in it may still be good.
        isLate = error instanceof SignerError && error.code === "timeout";
        trouble.failed(error);
        return known.token;
      }
    },
    another: async (refused, signal) => {
      const token = await readSoon(signal);
      return token === refused ? undefined : token;
    },
    trouble: () => trouble.note(),
    close: async () => {},
  };
}
