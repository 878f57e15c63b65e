import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { download } from "../src/cert/inspect/download.ts";
import { recordingContext } from "./support/recording-context.ts";

// What is read of certificates behind a URL, and what is refused.

afterEach(() => void vi.restoreAllMocks());

const MOST = 1_048_576;
const context = recordingContext("/");

async function serve(answer: (response: ServerResponse) => void): Promise<URL> {
  const server = createServer((_request, response) => answer(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/chain.pem`);
}

test("a body is read whole, and its host is told", async () => {
  const url = await serve((response) => {
    response.write("first ");
    response.end("last");
  });
  const { host, bytes } = await download(url.href, context);
  expect([host, Buffer.from(bytes).toString()]).toEqual([url.host, "first last"]);
});

test("while it is read, the host is shown", async () => {
  const url = await serve((response) => void response.end());
  const shown: string[] = [];
  const during: typeof context.during = (text, work) => {
    shown.push(text);
    return work(() => undefined);
  };
  await download(url.href, { ...context, during });
  expect(shown).toEqual([`Asking ${url.host}`]);
});

test.each([
  [MOST, true],
  [MOST + 1, false],
])("a body of %i bytes is read: %s", async (length, isRead) => {
  const url = await serve((response) => void response.end("a".repeat(length)));
  const outcome = download(url.href, context);
  if (isRead) expect((await outcome).bytes).toHaveLength(length);
  else {
    await expect(outcome).rejects.toMatchObject({
      exitCode: 3,
      code: "no_answer",
      message: `${url.host}: its answer is longer than ${MOST} bytes`,
    });
  }
});

test.each([201, 301, 404, 500])("the status %i is no answer, and no redirect is followed", async (status) => {
  let calls = 0;
  const url = await serve((response) => {
    calls += 1;
    response.writeHead(status, { location: "/other" }).end("body");
  });
  await expect(download(url.href, context)).rejects.toMatchObject({
    exitCode: 3,
    code: "no_answer",
    message: `${url.host}: it answered ${status}`,
  });
  expect(calls).toBe(1);
});

describe("no answer", () => {
  test("is told with the code of the connection", async () => {
    const url = await serve((response) => void response.destroy());
    await expect(download(url.href, context)).rejects.toMatchObject({
      exitCode: 3,
      code: "no_answer",
      message: expect.stringMatching(new RegExp(`^${url.host}: (?:UND_ERR_SOCKET|ECONNRESET)$`)),
      cause: expect.any(TypeError),
    });
  });

  test("is waited for ten seconds", async () => {
    const limit = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
      return AbortSignal.abort(new DOMException("late", "TimeoutError"));
    });
    const url = await serve(() => undefined);
    await expect(download(url.href, context)).rejects.toMatchObject({
      message: `${url.host}: no answer within 10 seconds`,
    });
    expect(limit).toHaveBeenCalledWith(10_000);
  });

  test("is waited for until the command ends", async () => {
    const url = await serve(() => undefined);
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(download(url.href, { ...context, signal })).rejects.toMatchObject({ message: `${url.host}: stopped` });
    const odd = AbortSignal.abort("stopped");
    await expect(download(url.href, { ...context, signal: odd })).rejects.toMatchObject({
      message: `${url.host}: no reason`,
    });
  });
});

describe("nothing is asked", () => {
  test.each(["https://", "https://u@op.example", "https://:p@op.example", "https://u:p@op.example", "op.example"])(
    "of %s",
    async (source) => {
      await expect(download(source, context)).rejects.toMatchObject({
        exitCode: 2,
        code: "url",
        message: "The source is no URL, or has a user name or password",
      });
    },
  );

  test("over plain http of another machine", async () => {
    await expect(download("http://op.example/", context)).rejects.toMatchObject({
      exitCode: 2,
      code: "url",
      message: "http: works on the loopback interface only",
      hint: "Write https://",
    });
  });
});
