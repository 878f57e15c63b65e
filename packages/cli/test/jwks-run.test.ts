import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type * as Keys from "../src/config/config-keys.ts";
import type { JwksFlags } from "../src/jwks/command.ts";
import { runJwks } from "../src/jwks/run.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// What `signpost jwks` prints and writes, and that it closes the keys.

const closed = vi.hoisted(() => ({ times: 0 }));
vi.mock("../src/config/config-keys.ts", async (original) => {
  const keys = await original<typeof Keys>();
  return {
    ...keys,
    openConfigKeys: async (...args: Parameters<typeof keys.openConfigKeys>) => {
      const opened = await keys.openConfigKeys(...args);
      const close = async (): Promise<void> => {
        await opened.close();
        closed.times += 1;
      };
      return { ...opened, close };
    },
  };
});

const { d: _private, ...PUBLIC } = RFC_KEY;
const BODY = JSON.stringify({ keys: [{ ...PUBLIC, kid: "sig-1", alg: "ES256", use: "sig" }] });
let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
  const keys = [{ keyId: "sig-1", signer: `local:${join(folder.path, "op.pem")}` }];
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys });
});
afterAll(() => folder[Symbol.asyncDispose]());
beforeEach(() => void (closed.times = 0));

async function jwks(flags: JwksFlags, isTerminal = false): Promise<string> {
  const context = recordingContext(folder.path);
  expect(await runJwks({ ...context, output: { ...context.output, isTerminal } }, flags)).toBe(0);
  expect(closed.times).toBe(1);
  return context.printed();
}

test("the document is printed as it is served, and ends a line on a terminal only", async () => {
  expect(await jwks({})).toBe(BODY);
  closed.times = 0;
  expect(await jwks({}, true)).toBe(`${BODY}\n`);
});

test("the ETag is printed in its quotes", async () => {
  expect(await jwks({ etag: true })).toMatch(/^"[0-9a-f]{64}"\n$/);
});

test("JSON has what is served, and with which headers", async () => {
  expect(JSON.parse(await jwks({ json: true }))).toEqual({
    jwksUri: "https://op.example/jwks",
    etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    cacheControl: "public, max-age=3600, stale-while-revalidate=3600",
    contentType: "application/jwk-set+json",
    keys: [expect.objectContaining({ kid: "sig-1", role: "active" })],
    nextChange: null,
    document: BODY,
  });
});

describe("files for a static host", () => {
  test("have the headers of the endpoint, and what to do next is told", async () => {
    const printed = await jwks({ out: "static" });
    expect(await readFile(join(folder.path, "static/public/jwks"), "utf8")).toBe(BODY);
    const headers = await readFile(join(folder.path, "static/public/_headers"), "utf8");
    expect(headers).toContain("  Content-Type: application/jwk-set+json\n");
    expect(headers).toContain("  Cache-Control: public, max-age=3600, stale-while-revalidate=3600\n");
    expect(printed.split("\n")).toEqual([
      "Wrote 4 files for https://op.example/jwks",
      "  public/jwks",
      "  public/_headers",
      "  s3.sh",
      "  gcs.sh",
      "",
      "  sig-1  active",
      "",
      "Upload them now. Run this command again whenever the keys change.",
      "Then: signpost check https://op.example/jwks",
      "",
    ]);
  });

  test("are told as JSON too", async () => {
    const printed = await jwks({ out: "static", json: true });
    expect(JSON.parse(printed.slice(printed.indexOf("{")))).toMatchObject({ document: BODY });
  });

  test("of a schedule have to be made again when it changes", async () => {
    const signer = `local:${join(folder.path, "op.pem")}`;
    await folder.addKey("next.pem");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-07-01T09:00:00Z") });
    const entries = [
      { keyId: "a", signer, announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" },
      {
        keyId: "b",
        signer: `local:${join(folder.path, "next.pem")}`,
        announcedFrom: "2026-07-01T08:00:00Z",
        activeFrom: "2026-07-01T14:00:00Z",
      },
    ];
    const keys = { maxTokenLifetimeSeconds: 60, entries };
    await folder.write("schedule.json", { issuer: "https://op.example", keys });
    const printed = await jwks({ out: "schedule", config: "schedule.json" });
    vi.useRealTimers();
    expect(printed).toContain("Run this command again at 2026-07-01T14:00:00.000Z: the key set changes then.");
    expect(printed).toMatch(/\n {2}a {2}active\n {2}b {2}announced\n/);
  });

  test("that cannot be written leave no key open", async () => {
    await folder.write("file", "");
    await expect(runJwks(recordingContext(folder.path), { out: "file/a" })).rejects.toMatchObject({ exitCode: 2 });
    expect(closed.times).toBe(1);
  });
});

test.each<JwksFlags>([
  { etag: true, json: true },
  { etag: true, out: "a" },
])("%j is refused before a key is opened", async (flags) => {
  await expect(runJwks(recordingContext(folder.path), flags)).rejects.toMatchObject({
    exitCode: 2,
    code: "flags",
    message: "--etag goes neither with --out nor with --json",
  });
  expect(closed.times).toBe(0);
});
