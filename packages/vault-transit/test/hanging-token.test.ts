import type * as promises from "node:fs/promises";
import { writeFile } from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { readSecretFile } from "../src/secret-file.ts";
import { createTokenFile } from "../src/token-file.ts";

// Secrets in files on a file system that hangs.

let release: () => void;
let hanging: Promise<void> | undefined;
vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  const stat = async (path: string): Promise<unknown> => {
    await hanging;
    return real.stat(path);
  };
  return { ...real, stat };
});

const folder = mkdtempSync(join(tmpdir(), "signpost-hanging-"));
const signal = new AbortController().signal;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());
afterAll(() => rmSync(folder, { recursive: true }));

function hang(): void {
  hanging = new Promise((resolve) => {
    release = () => {
      hanging = undefined;
      resolve();
    };
  });
}

test("the last token of a file stays in use, and only the first call waits for the file", async () => {
  const path = join(folder, "token");
  await writeFile(path, "first");
  const file = createTokenFile(path);
  expect(await file.token(signal)).toBe("first");
  hang();
  await writeFile(path, "second");
  await vi.advanceTimersByTimeAsync(1001);
  const waiting = file.token(signal);
  await vi.advanceTimersByTimeAsync(500);
  expect(await waiting).toBe("first");
  expect(file.trouble()).toMatch(/^the token's file cannot be read since .*Z \(timeout\); calls fail when it ends$/);
  // Without time to wait.
  expect(await file.token(signal)).toBe("first");
  // Its reading is abandoned after a while, and begun again by the next call.
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await file.token(signal)).toBe("first");
  release();
  await vi.waitFor(async () => expect(await file.token(signal)).toBe("second"));
  expect(file.trouble()).toBeUndefined();
});

test("a token that was refused is not replaced, and the error names the file", async () => {
  const path = join(folder, "refused");
  await writeFile(path, "first");
  const file = createTokenFile(path);
  await file.token(signal);
  hang();
  const another = file.another("first", signal).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(500);
  expect(await another).toMatchObject({
    code: "timeout",
    message: `the file ${path} (auth.path) was not read within 500 ms`,
  });
  release();
});

test("the secret of a login is not waited for without end, and two logins read it once", async () => {
  const path = join(folder, "secret");
  await writeFile(path, "secret");
  hang();
  const read = (): Promise<unknown> => readSecretFile("auth.secretIdFile", path).catch((error: unknown) => error);
  const late = [read(), read()];
  await vi.advanceTimersByTimeAsync(10_000);
  const message = `the file ${path} (auth.secretIdFile) was not read within 10000 ms`;
  expect(await Promise.all(late)).toMatchObject(late.map(() => ({ code: "timeout", message })));
  release();
  expect(await readSecretFile("auth.secretIdFile", path)).toBe("secret");
});
