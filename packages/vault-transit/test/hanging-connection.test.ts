import type * as promises from "node:fs/promises";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { planOpening, readInstant } from "@signpost/core/adapter";
import { countConnections } from "@signpost/test-backends/counted-connections";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { createOwnDispatcher } from "../src/own-dispatcher.ts";

let isHanging = false;
vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  const stat = async (path: string): Promise<unknown> => (isHanging ? new Promise<never>(() => {}) : real.stat(path));
  return { ...real, stat };
});

const folder = mkdtempSync(join(tmpdir(), "signpost-hanging-"));
const caFile = join(folder, "ca.pem");
writeFileSync(caFile, selfSignedCertificate("localhost").cert);
afterAll(() => rmSync(folder, { recursive: true }));

test("connections are made with the last content of a file for TLS while its mount hangs", async () => {
  const plan = planOpening({ policy: { attemptTimeoutMs: 400 } });
  const { dispatcher, ask, connections, stop } = await countConnections(
    await createOwnDispatcher({ caFile }, plan),
    true,
  );
  onTestFinished(stop);
  isHanging = true;
  expect(await ask()).toBe(200);
  // The next call makes a new connection.
  const cut = Object.assign(new Error("cut"), { code: "UND_ERR_SOCKET" });
  dispatcher.failed(cut, readInstant(), new AbortController().signal);
  expect(await ask()).toBe(200);
  expect(connections()).toBe(2);
});
