import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

// What `npm run docs` starts.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const READY = /^The documentation is at (http:\/\/127\.0\.0\.1:\d+\/) /;

async function serveDocs(): Promise<{ readonly url: string; stop(signal: NodeJS.Signals): Promise<unknown> }> {
  mkdirSync(join(ROOT, ".tmp"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".tmp/site-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = spawn(process.execPath, ["site/src/serve.mjs", relative(ROOT, folder)], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  const ended = once(server, "exit");
  for await (const line of createInterface({ input: server.stdout })) {
    const url = READY.exec(line)?.[1];
    if (url === undefined) continue;
    return {
      url,
      stop: (signal) => {
        server.kill(signal);
        return ended;
      },
    };
  }
  throw new Error("the server ended before it was ready");
}

test("the server of the documentation answers, and ends by SIGTERM while a browser is connected", async () => {
  const { url, stop } = await serveDocs();
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const [response] = (await once(get(url, { agent }), "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  expect(response.statusCode).toBe(200);
  expect(await stop("SIGTERM")).toEqual([0, null]);
}, 300_000);
