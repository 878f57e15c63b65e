import type * as promises from "node:fs/promises";
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
