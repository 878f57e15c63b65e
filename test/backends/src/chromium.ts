import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import type { Page } from "playwright-core";

export type { Page } from "playwright-core";

export interface Chromium extends AsyncDisposable {
  /** A page with its own HTTP cache and storage. */
  newPage(): Promise<Page>;
  stop(): Promise<void>;
}

/** Debian's Chromium, headless, with a temporary profile. Playwright ends it by its own pid. */
export async function startChromium(): Promise<Chromium> {
  const browser = await chromium.launch({
    executablePath: findChromium(),
    timeout: 60_000,
    // Chromium's own sandbox needs a user that is not root, and shared memory that containers lack.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  const stop = (): Promise<void> => browser.close();
  return {
    newPage: async () => (await browser.newContext()).newPage(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function findChromium(): string {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, "chromium");
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder.
    }
  }
  throw new Error("chromium: not found on PATH");
}
