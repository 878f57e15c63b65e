import { createHash } from "node:crypto";
import { watch, type FSWatcher } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";

export interface WatchOptions {
  readonly signal: AbortSignal;
  readonly onChange: () => void;
  /** How often the file is read in any case. Default 2000. */
  readonly pollMs?: number | undefined;
  /** Whether to ask the operating system too. Default true. */
  readonly notices?: boolean | undefined;
}

const POLL_MS = 2000;
/** Editors write in several steps. */
const SETTLING_MS = 100;
const MISSING = "";

/**
 * Calls `onChange` when the content of a file has changed. The content decides, not its date: so it does not matter whether a file
 * was written, replaced by another one, or reached by a link that now leads elsewhere, as in a Kubernetes ConfigMap. Notices of the
 * operating system make it quick; where there are none, as on network file systems, the file is read from time to time.
 *
 * The first content is the one at the time of this call. Resolves when it is known.
 */
export async function watchFile(path: string, options: WatchOptions): Promise<void> {
  const { signal, onChange, pollMs = POLL_MS, notices = true } = options;
  let seen = await fingerprint(path);
  // A signal that has aborted calls no listener, which would stop the polls.
  if (signal.aborted) return;
  let settling: NodeJS.Timeout | undefined;
  let looking = false;

  const look = async (isNotice: boolean): Promise<void> => {
    if (looking || signal.aborted) return;
    looking = true;
    const now = await fingerprint(path);
    looking = false;
    // While an editor replaces a file, it is missing for a moment.
    if (now === seen || (isNotice && now === MISSING)) return;
    seen = now;
    onChange();
  };
  const noticed = (): void => {
    clearTimeout(settling);
    settling = setTimeout(() => void look(true), SETTLING_MS);
  };

  const poll = setInterval(() => void look(false), pollMs);
  const watcher = notices ? watchFolder(dirname(path), noticed) : undefined;
  const stop = (): void => {
    clearInterval(poll);
    clearTimeout(settling);
    watcher?.close();
  };
  signal.addEventListener("abort", stop, { once: true });
}

/** The folder, because a file that is replaced is no longer the one that was watched. */
function watchFolder(folder: string, noticed: () => void): FSWatcher | undefined {
  try {
    // Without it, only the polls remain.
    return watch(folder, noticed).on("error", () => undefined);
  } catch {
    return undefined;
  }
}

async function fingerprint(path: string): Promise<string> {
  const bytes = await readFile(path).catch(() => undefined);
  return bytes === undefined ? MISSING : createHash("sha256").update(bytes).digest("hex");
}
