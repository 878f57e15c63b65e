import { createTrouble, elapsedMs, readInstant, untilAborted, type Instant } from "@signpost/core/adapter";
import type { Credentials } from "./credentials.ts";
import { readSecretFile } from "./secret-file.ts";

/** How long a token is used before its file is read again. Milliseconds. */
const FRESH_MS = 1000;

/** A file with a token, which another program renews and replaces. */
export function createTokenFile(path: string): Credentials {
  let known: { readonly token: string; readonly readAt: Instant } | undefined;
  const trouble = createTrouble("the token's file cannot be read");
  let reading: Promise<string> | undefined;

  const readNow = async (): Promise<string> => {
    const readAt = readInstant();
    const token = await readSecretFile("auth.path", path);
    known = { token, readAt };
    trouble.ended();
    return token;
  };
  const read = (signal: AbortSignal): Promise<string> => {
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return untilAborted(reading, signal);
  };
  return {
    token: async (signal) => {
      if (known !== undefined && elapsedMs(known.readAt) < FRESH_MS) return known.token;
      try {
        return await read(signal);
      } catch (error) {
        // The file is being replaced. The token that was in it may still be good.
        if (known === undefined || signal.aborted) throw error;
        trouble.failed(error);
        return known.token;
      }
    },
    another: async (refused, signal) => {
      const token = await read(signal);
      return token === refused ? undefined : token;
    },
    trouble: () => trouble.note(),
    close: async () => {},
  };
}
