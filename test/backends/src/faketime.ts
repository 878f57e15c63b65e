import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * The environment of a process whose wall clock runs this far ahead of the machine's, or behind it if negative. Programs in Go
 * do not notice: they ask the kernel, not the C library.
 */
export async function skewedClock(seconds: number): Promise<NodeJS.ProcessEnv> {
  return { ...(await faketimePreload()), FAKETIME: `${seconds < 0 ? "" : "+"}${seconds}s` };
}

/** Loads libfaketime into a process. Which time it shows is for the caller to add. */
export async function faketimePreload(): Promise<Record<string, string>> {
  return {
    LD_PRELOAD: await findFaketime(),
    // Timeouts pass in real time.
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    FAKETIME_DISABLE_SHM: "1",
    NO_FAKE_STAT: "1",
  };
}

async function findFaketime(): Promise<string> {
  // Debian keeps it in a folder named after the machine's architecture.
  const folders = ["/usr/lib", ...(await readdir("/usr/lib")).map((name) => join("/usr/lib", name))];
  const found = folders.map((folder) => join(folder, "faketime/libfaketime.so.1")).find((path) => existsSync(path));
  if (found === undefined) throw new Error("libfaketime is not below /usr/lib (Debian: apt-get install faketime)");
  return found;
}
