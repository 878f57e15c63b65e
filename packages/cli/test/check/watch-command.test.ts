import { once } from "node:events";
import { createRotationSchedule } from "@signpost/core";
import { freePort } from "@signpost/test-backends/process";
import { describe, expect, it } from "vitest";
import { ended, runCli, startCli } from "../support/run-cli.ts";
import type { CliResult } from "../support/run-cli.ts";
import { EC_KEY, ED_KEY, op } from "./support/op.ts";
import { serve, serveRaw, serveSignpost, signer } from "./support/serve.ts";

// `signpost check --watch` as a shell starts it, and what ends a check from outside.

const check = (...args: readonly string[]): Promise<CliResult> => runCli(["check", ...args]);

const ANNOUNCED = Date.parse("2026-07-01T08:00:00Z");

/** The schedule of docs/rotation.md, by the given clock. */
async function schedule(now: () => number): Promise<ReturnType<typeof createRotationSchedule>> {
  const first = { keyId: "sig-2026-01", announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };
  const second = {
    keyId: "sig-2026-07",
    announcedFrom: new Date(ANNOUNCED),
    activeFrom: new Date(ANNOUNCED + 6 * 3_600_000),
  };
  return createRotationSchedule(
    [
      { ...first, signer: await signer() },
      { ...second, signer: await signer() },
    ],
    { maxTokenLifetimeSeconds: 3600, now },
  );
}

describe("--watch", () => {
  it("sees the announcement of a schedule, and counts with the long lifetime that was told before", async () => {
    let now = ANNOUNCED - 1000;
    const server = await serveSignpost(await schedule(() => now));
    const child = startCli(["check", server.origin, "--watch", "--interval", "0.1", "--json"]);
    const events = linesOf(child.stdout);
    await expect(events.next()).resolves.toMatchObject({ value: { event: "watching", keys: ["sig-2026-01"] } });
    now = ANNOUNCED;
    const { value: announced } = (await events.next()) as { readonly value: Readonly<Record<string, string>> };
    expect(announced).toMatchObject({ event: "announced", key: "sig-2026-07" });
    const hoursAfter = (time = ""): number => (Date.parse(time) - Date.parse(announced["at"] ?? "")) / 3_600_000;
    expect([hoursAfter(announced["direct"]), hoursAfter(announced["shared"])]).toEqual([2, 4]);
    await expect(events.next()).resolves.toMatchObject({
      value: { event: "lifetime", cacheControl: "public, max-age=300, must-revalidate" },
    });
    child.kill("SIGINT");
    await ended(child);
    expect(child.exitCode).toBe(130);
  });

  it("tells it to people like this", async () => {
    let now = ANNOUNCED - 1000;
    const server = await serveSignpost(await schedule(() => now));
    const child = startCli(["check", server.origin, "--watch", "--interval", "0.1"], { env: { FORCE_COLOR: "1" } });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      now = ANNOUNCED;
      if (text.includes("must-revalidate")) child.kill("SIGINT");
    });
    await ended(child);
    await expect(`$ signpost check https://op.example --watch\n${atTheHour(text)}`).toMatchFileSnapshot(
      "../transcripts/check-watch.ansi",
    );
  });

  it("follows a rotation with a short lifetime, and ends when the key may sign", async () => {
    let keys: readonly unknown[] = [EC_KEY];
    const server = await serve(
      (metadata) => (request) => op({ metadata, keys, headers: { "cache-control": "max-age=1" } })(request),
    );
    const child = startCli(["check", server.origin, "--watch", "--interval", "0.1", "--until", "ed-1"]);
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    await once(child.stdout, "data");
    keys = [EC_KEY, ED_KEY];
    await ended(child);
    expect(child.exitCode).toBe(0);
    expect(stdout.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME").split("\n")).toEqual([
      "TIME  watching sig-1",
      "                      Cache-Control: max-age=1",
      "TIME  ed-1 is announced",
      "                      it may sign from TIME",
      "                      behind a shared cache, from TIME",
      "TIME  ed-1 may sign if no shared cache is in between",
      "TIME  ed-1 may sign",
      "",
    ]);
  });

  it("does not guess what caches were told about a key that was there before", async () => {
    const server = await serve();
    const { code, stderr } = await check(server.origin, "--watch", "--until", "sig-1");
    expect([code, stderr]).toEqual([2, expect.stringContaining("sig-1 was published before the watch began")]);
  });

  it("does not wait for a lifetime that is never told", async () => {
    let keys: readonly unknown[] = [EC_KEY];
    const server = await serve((metadata) => (request) => {
      const reply = op({ metadata, keys, headers: { "cache-control": undefined } })(request);
      if (request.url.endsWith("/jwks")) keys = [EC_KEY, ED_KEY];
      return reply;
    });
    const { code, stderr } = await check(server.jwksUri, "--watch", "--interval", "0.1", "--until", "ed-1");
    expect([code, stderr]).toEqual([1, expect.stringContaining("the key set states no lifetime")]);
  });

  it.each([
    ["nothing listens", "ECONNREFUSED"],
    ["there is no discovery document", "no discovery document tells where the key set is"],
  ])("ends at once when %s", async (_name, message) => {
    const server = await serve(() => () => ({ status: 404, headers: {} }));
    const url = message === "ECONNREFUSED" ? `http://127.0.0.1:${await freePort()}` : server.origin;
    const { code, stderr } = await check(url, "--watch");
    expect([code, stderr]).toEqual([3, expect.stringContaining(message)]);
  });
});

describe("the end from outside", () => {
  it("Ctrl-C while a server keeps silent", async () => {
    let isConnected: () => void = () => undefined;
    const connected = new Promise<void>((resolve) => {
      isConnected = resolve;
    });
    const port = await serveRaw(() => isConnected());
    const child = startCli(["check", `http://127.0.0.1:${port}`]);
    await connected;
    child.kill("SIGINT");
    await ended(child);
    expect(child.exitCode).toBe(130);
  });

  it("a reader that goes away", async () => {
    const server = await serveSignpost();
    const child = startCli(["check", server.origin, "--watch", "--interval", "0.1"]);
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    await once(child.stdout, "data");
    child.stdout.destroy();
    // Something to write.
    server.answerWith(() => ({ status: 500 }));
    await ended(child);
    expect([child.exitCode, stderr]).toEqual([0, ""]);
  });
});

/** As if the key had been announced at 08:00, and the watch had begun half a minute before. */
function atTheHour(text: string): string {
  const [started = "", announced = ""] = text.match(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g) ?? [];
  const moved = ANNOUNCED - Date.parse(announced);
  const shown = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;
  const [first = "", ...others] = text.split("\n");
  const later = others
    .join("\n")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (time) => shown(Date.parse(time) + moved));
  return `${first.replace(started, shown(ANNOUNCED - 30_000))}\n${later}`;
}

async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<unknown, void> {
  let rest = "";
  for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}
