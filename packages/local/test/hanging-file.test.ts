import * as promises from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { openSigner } from "@signpost/core";
import { local } from "@signpost/local";

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  return { ...real, stat: vi.fn<typeof promises.stat>(() => new Promise<never>(() => {})) };
});

test("a key on a file system that hangs is waited for until the deadline, or until the caller gives up", async () => {
  const opening = openSigner("local:/mnt/away/key.pem", [local()], { policy: { deadlineMs: 50 } });
  await expect(opening).rejects.toMatchObject({ name: "SignerError", code: "timeout" });
  const given = openSigner("local:/mnt/away/key.pem", [local()], { signal: AbortSignal.timeout(50) });
  await expect(given).rejects.toMatchObject({ name: "SignerError", code: "aborted" });
});

test("keys on such a file system cost one read for each file, and two at a time", async () => {
  vi.mocked(promises.stat).mockClear();
  const open = (name: string): Promise<unknown> =>
    openSigner(`local:/mnt/away/${name}.pem`, [local()], { policy: { deadlineMs: 50 } });
  const settled = await Promise.allSettled(["a", "a", "b", "c", "d", "e"].map(open));
  expect(settled.map(({ status }) => status)).toEqual(Array(6).fill("rejected"));
  // The key of the test before is still being read.
  expect(promises.stat).toHaveBeenCalledTimes(1);
});
